//! Sparse matrices made from graphs.

use crate::element::Element;
use crate::error::{call, Result};
use crate::lists::{slice, Values};
use crate::rows::RowsMut;
use knng_sys as sys;
use std::fmt;
use std::ptr;

/// A graph as a sparse matrix, from [`Graph::sparse`](crate::Graph::sparse), with entries sorted by row, then column. It
/// never changes.
///
/// ```
/// use knng::Dataset;
///
/// # fn main() -> Result<(), knng::Error> {
/// let graph = Dataset::from_owned(vec![0.0_f32, 1.0, 7.0, 9.5], 1)?.build(1)?;
/// let edges = graph.sparse("union")?;
/// for e in edges.iter().filter(|e| e.row < e.column) {
///     println!("{} - {}: {}", e.row, e.column, e.value);
/// }
/// let csr = edges.to_csr::<i32, f32>(0)?; // for another library
/// assert_eq!(csr.indptr, [0, 1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
pub struct Sparse {
    raw: *mut sys::knng_sparse,
    rows: usize,
    columns: usize,
    indptr: sys::knng_matrix,
    row: sys::knng_matrix,
    col: sys::knng_matrix,
    value: sys::knng_matrix,
}

// Sparse matrices never change after they are made, and belong to no thread.
unsafe impl Send for Sparse {}
unsafe impl Sync for Sparse {}

/// An entry of a sparse matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// Its value; one that is kept as `f32` is the same number.
    pub value: f64,
}

/// Compressed rows, as other libraries take them: row i has `indices[indptr[i]..indptr[i + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Csr<I, V> {
    /// Where each row begins, and the number of entries: rows + 1 numbers.
    pub indptr: Vec<I>,
    /// Columns.
    pub indices: Vec<I>,
    /// Values beside them.
    pub values: Vec<V>,
}

/// Coordinates, as other libraries take them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coo<I, V> {
    /// Rows.
    pub rows: Vec<I>,
    /// Columns beside them.
    pub columns: Vec<I>,
    /// Values beside them.
    pub values: Vec<V>,
}

impl Sparse {
    /// What `function` makes. Dropped, if a callback of it panics.
    pub(crate) fn made(function: impl FnOnce(*mut *mut sys::knng_sparse) -> Result<()>) -> Result<Self> {
        let nothing = sys::knng_matrix::packed(sys::KNNG_NO_DTYPE, 0, 0, ptr::null());
        let mut sparse = Sparse {
            raw: ptr::null_mut(),
            rows: 0,
            columns: 0,
            indptr: nothing,
            row: nothing,
            col: nothing,
            value: nothing,
        };
        function(&mut sparse.raw)?;
        let (mut rows, mut columns, mut entries) = (0, 0, 0);
        call(|error| unsafe { sys::knng_sparse_shape(sparse.raw, &mut rows, &mut columns, &mut entries, error) })?;
        call(|error| unsafe {
            let Sparse { raw, indptr, row, col, value, .. } = &mut sparse;
            sys::knng_sparse_view(*raw, indptr, row, col, value, error)
        })?;
        sparse.rows = rows as usize;
        sparse.columns = columns as usize;
        Ok(sparse)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.column_ids().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where each row begins in the other arrays, and the number of entries.
    pub fn indptr(&self) -> &[i64] {
        // Shown by knng_sparse_view, valid until the matrix is destroyed; this and the others.
        unsafe { slice(&self.indptr) }
    }

    /// The row of every entry.
    pub fn row_ids(&self) -> &[i64] {
        unsafe { slice(&self.row) }
    }

    /// The column of every entry.
    pub fn column_ids(&self) -> &[i64] {
        unsafe { slice(&self.col) }
    }

    /// The value of every entry.
    pub fn values(&self) -> Values<'_> {
        unsafe { Values::of(&self.value) }
    }

    /// All entries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry> + DoubleEndedIterator + '_ {
        let (rows, columns, values) = (self.row_ids(), self.column_ids(), self.values());
        rows.iter()
            .zip(columns)
            .zip(values.iter())
            .map(|((&row, &column), value)| Entry { row: row as usize, column: column as usize, value })
    }

    /// The entries of a row.
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = Entry> + DoubleEndedIterator + '_ {
        assert!(row < self.rows, "row {row} of a matrix that has {}", self.rows);
        let (from, to) = (self.indptr()[row] as usize, self.indptr()[row + 1] as usize);
        let (columns, values) = (self.column_ids(), self.values());
        (from..to).map(move |place| Entry {
            row,
            column: columns[place] as usize,
            value: values.get(place).unwrap_or(f64::NAN),
        })
    }

    /// Compressed rows in the wanted types: `i32` or `i64`, counted from `base` 0 or 1, and `f32` or `f64`. For every rule
    /// but "directed" the matrix is symmetric, so that they are compressed columns as well.
    /// # Errors
    /// [`Range`](crate::ErrorKind::Range) for another base, and for what a type cannot hold;
    /// [`Argument`](crate::ErrorKind::Argument) for another type.
    pub fn to_csr<I: Element, V: Element>(&self, base: i32) -> Result<Csr<I, V>> {
        let mut indptr = vec![I::default(); self.rows + 1];
        let (mut indices, mut values) = (vec![I::default(); self.len()], vec![V::default(); self.len()]);
        let (mut starts, mut columns, mut numbers) =
            (RowsMut::new(&mut indptr, 1)?, RowsMut::new(&mut indices, 1)?, RowsMut::new(&mut values, 1)?);
        call(|error| unsafe {
            let null = ptr::null_mut();
            let (starts, columns, numbers) = (starts.raw_mut(), columns.raw_mut(), numbers.raw_mut());
            sys::knng_sparse_copy(self.raw, base, starts, null, columns, numbers, error)
        })?;
        Ok(Csr { indptr, indices, values })
    }

    /// Coordinates in the wanted types, as [`to_csr`](Self::to_csr).
    /// # Errors
    /// As [`to_csr`](Self::to_csr).
    pub fn to_coo<I: Element, V: Element>(&self, base: i32) -> Result<Coo<I, V>> {
        let (mut rows, mut columns) = (vec![I::default(); self.len()], vec![I::default(); self.len()]);
        let mut values = vec![V::default(); self.len()];
        let (mut row, mut col, mut numbers) =
            (RowsMut::new(&mut rows, 1)?, RowsMut::new(&mut columns, 1)?, RowsMut::new(&mut values, 1)?);
        call(|error| unsafe {
            let null = ptr::null_mut();
            let (row, col, numbers) = (row.raw_mut(), col.raw_mut(), numbers.raw_mut());
            sys::knng_sparse_copy(self.raw, base, null, row, col, numbers, error)
        })?;
        Ok(Coo { rows, columns, values })
    }

    /// The C library's matrix, which stays this one's.
    pub fn as_raw(&self) -> *const sys::knng_sparse {
        self.raw
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        unsafe { sys::knng_sparse_destroy(self.raw) };
    }
}

impl fmt::Debug for Sparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sparse({} x {}, {} entries)", self.rows, self.columns, self.len())
    }
}
