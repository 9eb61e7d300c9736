//! The neighbour lists of a graph: slices, and iterators over them.

use knng_sys as sys;
use std::iter::FusedIterator;

/// A neighbour of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// Its row, from 0.
    pub id: usize,
    /// Its distance, or its similarity under `value=similarity`. A distance that is kept as `f32` is the same number.
    pub distance: f64,
}

/// Values of a graph or sparse matrix, in the type in which they are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// `f32`, but for rows that are `f64`, or under `value_type=f64`.
    F32(&'a [f32]),
    /// `f64`.
    F64(&'a [f64]),
}

impl<'a> Values<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `place`.
    pub fn get(&self, place: usize) -> Option<f64> {
        match self {
            Values::F32(values) => values.get(place).map(|&value| value.into()),
            Values::F64(values) => values.get(place).copied(),
        }
    }

    /// The slice, if it is of `f32`.
    pub fn as_f32(&self) -> Option<&'a [f32]> {
        match *self {
            Values::F32(values) => Some(values),
            Values::F64(_) => None,
        }
    }

    /// The slice, if it is of `f64`.
    pub fn as_f64(&self) -> Option<&'a [f64]> {
        match *self {
            Values::F64(values) => Some(values),
            Values::F32(_) => None,
        }
    }

    /// The values one after another.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> + DoubleEndedIterator + 'a {
        let values = *self;
        (0..values.len()).map(move |place| values.at(place))
    }

    fn at(&self, place: usize) -> f64 {
        match self {
            Values::F32(values) => values[place].into(),
            Values::F64(values) => values[place],
        }
    }

    fn part(&self, from: usize, to: usize) -> Values<'a> {
        match *self {
            Values::F32(values) => Values::F32(&values[from..to]),
            Values::F64(values) => Values::F64(&values[from..to]),
        }
    }

    /// What a matrix of the library shows.
    ///
    /// # Safety
    /// `raw` must have been filled in by a view function for packed host memory that lives for `'a`.
    pub(crate) unsafe fn of(raw: &sys::knng_matrix) -> Values<'a> {
        if raw.dtype == sys::KNNG_F64 {
            Values::F64(unsafe { slice(raw) })
        } else {
            Values::F32(unsafe { slice(raw) })
        }
    }
}

/// The memory that a matrix of the library shows.
///
/// # Safety
/// As for [`Values::of`], and `T` must be the matrix's type.
pub(crate) unsafe fn slice<'a, T>(raw: &sys::knng_matrix) -> &'a [T] {
    let length = (raw.rows * raw.cols) as usize;
    if length == 0 || raw.data.is_null() {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(raw.data.cast(), length) }
}

/// The lists of a graph, as it keeps them in host memory: packed, one row's after another's.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    pub(crate) ids: &'a [i64],
    pub(crate) values: Values<'a>,
    pub(crate) width: usize,
}

impl<'a> Lists<'a> {
    /// Ids, `rows * width` of them; -1 where there is no neighbour, as only imported graphs have it.
    pub fn ids(&self) -> &'a [i64] {
        self.ids
    }

    /// Distances or similarities beside them; +inf where there is no neighbour.
    pub fn values(&self) -> Values<'a> {
        self.values
    }

    /// Entries of a list: k, or k + 1 under `self=first`.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The neighbours of a row, the nearest first.
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Neighbors<'a> {
        let rows = self.ids.len() / self.width.max(1);
        assert!(row < rows, "row {row} of a graph that has {rows}");
        let (from, to) = (row * self.width, (row + 1) * self.width);
        Neighbors { ids: &self.ids[from..to], values: self.values.part(from, to) }
    }

    /// The rows' neighbours, one row after another.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Neighbors<'a>> + DoubleEndedIterator + 'a {
        let lists = *self;
        (0..lists.ids.len() / lists.width.max(1)).map(move |row| lists.row(row))
    }
}

/// The neighbours of a row, the nearest first. Places without a neighbour are passed over.
#[derive(Clone, Copy, Debug)]
pub struct Neighbors<'a> {
    ids: &'a [i64],
    values: Values<'a>,
}

impl<'a> Neighbors<'a> {
    /// The ids that are still to come, as they are kept.
    pub fn ids(&self) -> &'a [i64] {
        self.ids
    }

    /// Their distances or similarities.
    pub fn values(&self) -> Values<'a> {
        self.values
    }
}

impl Iterator for Neighbors<'_> {
    type Item = Neighbor;

    fn next(&mut self) -> Option<Neighbor> {
        while let Some((&id, rest)) = self.ids.split_first() {
            let distance = self.values.at(0);
            self.ids = rest;
            self.values = self.values.part(1, self.values.len());
            if let Ok(id) = usize::try_from(id) {
                return Some(Neighbor { id, distance });
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.ids.len()))
    }
}

impl DoubleEndedIterator for Neighbors<'_> {
    fn next_back(&mut self) -> Option<Neighbor> {
        while let Some((&id, rest)) = self.ids.split_last() {
            let distance = self.values.at(rest.len());
            self.ids = rest;
            self.values = self.values.part(0, rest.len());
            if let Ok(id) = usize::try_from(id) {
                return Some(Neighbor { id, distance });
            }
        }
        None
    }
}

impl FusedIterator for Neighbors<'_> {}
