//! Matrices that are slices of the caller's: what the library reads, and what it writes to.

use crate::element::{Dtype, Element};
use crate::error::{Error, Result};
use knng_sys as sys;
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;

/// A matrix of the caller's that the library reads: points are rows. Nothing is copied.
///
/// ```
/// use knng::Rows;
///
/// let x = [0.0_f32, 0.0, 1.0, 0.0, 0.0, 1.0];
/// let packed = Rows::new(&x, 2).unwrap(); // 3 points of 2 dimensions, point after point
/// let turned = Rows::column_major(&x, 3, 2).unwrap(); // 3 points, coordinate after coordinate
/// assert_eq!((packed.rows(), packed.columns()), (turned.rows(), turned.columns()));
/// assert!(Rows::new(&x, 4).is_err()); // 6 numbers are no whole number of points
/// let points: &[[f64; 2]] = &[[0.0, 0.0], [3.0, 4.0]];
/// assert_eq!(Rows::from(points).rows(), 2);
/// ```
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    raw: sys::knng_matrix,
    _data: PhantomData<&'a [u8]>,
}

// A shared view of plain numbers.
unsafe impl Send for Rows<'_> {}
unsafe impl Sync for Rows<'_> {}

impl<'a> Rows<'a> {
    /// Packed rows: the first point's coordinates, then the second's, and so on.
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) if `data` is no whole number of rows of `columns` numbers.
    pub fn new<T: Element>(data: &'a [T], columns: usize) -> Result<Self> {
        let (rows, columns) = whole_rows(data, columns)?;
        Ok(Rows::view::<T>(data.as_ptr().cast(), rows, columns, 0, 0))
    }

    /// Columns after one another: the first coordinate of all points, then the second, and so on.
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) if `data` has not `rows * columns` numbers.
    pub fn column_major<T: Element>(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        let (rows, columns) = whole_matrix(data, rows, columns)?;
        Ok(Rows::view::<T>(data.as_ptr().cast(), rows, columns, 1, rows))
    }

    /// Any strides, negative ones too: element (i, j) is `data[first + i * row_stride + j * column_stride]`. Rows may
    /// overlap, as in sliding windows.
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) if an element would lie outside `data`, and for two strides of 0 with more
    /// than one element. One stride of 0 is refused when the rows are used.
    ///
    /// ```
    /// # use knng::{Dataset, Rows};
    /// # fn main() -> Result<(), knng::Error> {
    /// let series: Vec<f64> = (0..100).map(|t| (t as f64 * 0.3).sin()).collect();
    /// let windows = Rows::strided(&series, 0, 91, 10, 1, 1)?; // 91 windows of 10 values
    /// let graph = Dataset::from_rows(windows)?.build(3)?;
    /// # assert_eq!(graph.rows(), 91);
    /// # Ok(())
    /// # }
    /// ```
    pub fn strided<T: Element>(
        data: &'a [T],
        first: usize,
        rows: usize,
        columns: usize,
        row_stride: isize,
        column_stride: isize,
    ) -> Result<Self> {
        if row_stride == 0 && column_stride == 0 && (rows > 1 || columns > 1) {
            let message = "data: strides 0 and 0 repeat one element, and the library takes them for packed rows: \
                           Rows::new() makes those"
                .to_string();
            return Err(Error::refused(sys::KNNG_ERR_ARGUMENT, "data", 0, 1, message));
        }
        if rows > 0 && columns > 0 {
            let span = |count: usize, stride: isize| (count as i128 - 1) * stride as i128;
            let (down, across) = (span(rows, row_stride), span(columns, column_stride));
            let lowest = first as i128 + down.min(0) + across.min(0);
            let highest = first as i128 + down.max(0) + across.max(0);
            if lowest < 0 || highest >= data.len() as i128 {
                let wrong = if lowest < 0 { lowest } else { highest };
                let message = format!(
                    "data: {rows} x {columns} with strides {row_stride} and {column_stride} from {first} reaches \
                     element {wrong}, the slice has {}",
                    data.len()
                );
                let given = i64::try_from(wrong).unwrap_or(-1);
                let limit = if lowest < 0 { 0 } else { length(data) - 1 };
                return Err(Error::refused(sys::KNNG_ERR_ARGUMENT, "data", given, limit, message));
            }
        }
        let (rows, columns) = (to_i64("rows", rows)?, to_i64("columns", columns)?);
        let start = data.as_ptr().wrapping_add(first);
        Ok(Rows::view::<T>(start.cast(), rows, columns, row_stride as i64, column_stride as i64))
    }

    /// A matrix as the C interface describes it: device memory, for example.
    /// # Safety
    /// `raw` must describe memory that may be read, and that does not change, for `'a`; `release` must be `None`.
    pub unsafe fn from_raw(raw: sys::knng_matrix) -> Self {
        Rows { raw, _data: PhantomData }
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.raw.rows as usize
    }

    /// Dimension of a point.
    pub fn columns(&self) -> usize {
        self.raw.cols as usize
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        Dtype(self.raw.dtype)
    }

    pub(crate) fn raw(&self) -> &sys::knng_matrix {
        &self.raw
    }

    fn view<T: Element>(data: *const c_void, rows: i64, columns: i64, row_stride: i64, col_stride: i64) -> Self {
        let packed = sys::knng_matrix::packed(T::DTYPE.code(), rows, columns, data);
        Rows { raw: sys::knng_matrix { row_stride, col_stride, ..packed }, _data: PhantomData }
    }
}

impl<'a, T: Element, const D: usize> From<&'a [[T; D]]> for Rows<'a> {
    fn from(points: &'a [[T; D]]) -> Self {
        // Only rows without columns can be more than i64::MAX, and the library refuses those whatever their number.
        let rows = i64::try_from(points.len()).unwrap_or(i64::MAX);
        Rows::view::<T>(points.as_ptr().cast(), rows, D as i64, 0, 0)
    }
}

impl<'a, T: Element, const D: usize> From<&'a Vec<[T; D]>> for Rows<'a> {
    fn from(points: &'a Vec<[T; D]>) -> Self {
        Rows::from(points.as_slice())
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} x {}, {:?})", self.raw.rows, self.raw.cols, self.dtype())
    }
}

/// A matrix of the caller's that the library writes to.
pub struct RowsMut<'a> {
    raw: sys::knng_matrix,
    _data: PhantomData<&'a mut [u8]>,
}

// As a `&mut` slice of plain numbers.
unsafe impl Send for RowsMut<'_> {}
unsafe impl Sync for RowsMut<'_> {}

impl<'a> RowsMut<'a> {
    /// Packed rows, one after another.
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) if `data` is no whole number of rows of `columns` numbers.
    pub fn new<T: Element>(data: &'a mut [T], columns: usize) -> Result<Self> {
        let (rows, columns) = whole_rows(data, columns)?;
        Ok(RowsMut::view(data, rows, columns, 0, 0))
    }

    /// Columns after one another, as Fortran, R and Julia have them.
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) if `data` has not `rows * columns` numbers.
    pub fn column_major<T: Element>(data: &'a mut [T], rows: usize, columns: usize) -> Result<Self> {
        let (rows, columns) = whole_matrix(data, rows, columns)?;
        Ok(RowsMut::view(data, rows, columns, 1, rows))
    }

    /// A matrix as the C interface describes it.
    /// # Safety
    /// `raw` must describe memory that may be written to, and that nothing else looks at, for `'a`; its elements must not
    /// overlap, and take any value of their type.
    pub unsafe fn from_raw(raw: sys::knng_matrix) -> Self {
        RowsMut { raw, _data: PhantomData }
    }

    pub(crate) fn raw_mut(&mut self) -> *mut sys::knng_matrix {
        &mut self.raw
    }

    fn view<T: Element>(data: &'a mut [T], rows: i64, columns: i64, row_stride: i64, col_stride: i64) -> Self {
        let start: *const T = data.as_mut_ptr();
        let packed = sys::knng_matrix::packed(T::DTYPE.code(), rows, columns, start.cast());
        RowsMut { raw: sys::knng_matrix { row_stride, col_stride, ..packed }, _data: PhantomData }
    }
}

impl fmt::Debug for RowsMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowsMut({} x {}, {:?})", self.raw.rows, self.raw.cols, Dtype(self.raw.dtype))
    }
}

/// A number for the library.
pub(crate) fn to_i64(argument: &str, number: usize) -> Result<i64> {
    i64::try_from(number).map_err(|_| Error::too_large(argument, number, i64::MAX))
}

/// The length of a slice of elements, which has no more than `isize::MAX` bytes.
fn length<T: Element>(data: &[T]) -> i64 {
    data.len() as i64
}

fn whole_rows<T: Element>(data: &[T], columns: usize) -> Result<(i64, i64)> {
    let numbers = data.len();
    if columns == 0 || numbers % columns != 0 {
        let message = format!("data: {numbers} numbers are no whole number of rows of {columns}");
        return Err(Error::refused(sys::KNNG_ERR_ARGUMENT, "data", length(data), -1, message));
    }
    Ok((to_i64("rows", numbers / columns)?, to_i64("columns", columns)?))
}

fn whole_matrix<T: Element>(data: &[T], rows: usize, columns: usize) -> Result<(i64, i64)> {
    let (numbers, wanted) = (data.len(), rows.checked_mul(columns));
    if wanted != Some(numbers) {
        let message = format!("data: {numbers} numbers are no matrix of {rows} x {columns}");
        let limit = wanted.and_then(|wanted| i64::try_from(wanted).ok()).unwrap_or(-1);
        return Err(Error::refused(sys::KNNG_ERR_ARGUMENT, "data", length(data), limit, message));
    }
    Ok((to_i64("rows", rows)?, to_i64("columns", columns)?))
}
