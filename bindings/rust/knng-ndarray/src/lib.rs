//! Arrays of ndarray in and out of [`knng`]. Points are rows.
//!
//! ```
//! use knng::Dataset;
//! use knng_ndarray::{rows, GraphArrays};
//! use ndarray::Array2;
//!
//! # fn main() -> Result<(), knng::Error> {
//! let x = Array2::from_shape_fn((100, 3), |(i, j)| ((i * i + j) % 17) as f32);
//! let graph = Dataset::from_rows(rows(&x)?)?.build(5)?; // x is not copied
//! let ids = graph.ids_array(); // 100 x 5, the graph's own memory
//! let (ids32, distances) = graph.to_arrays::<i32, f64>(1)?; // copies, counted from 1
//! assert_eq!(ids[[7, 0]] as i32 + 1, ids32[[7, 0]]);
//! # assert!(distances[[7, 0]] <= distances[[7, 4]]);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]
#![warn(unsafe_op_in_unsafe_fn)]

use knng::{sys, Dataset, Element, Graph, Result, Rows, RowsMut};
use ndarray::{Array2, ArrayBase, ArrayView2, Data, DataMut, Ix2};
use std::os::raw::c_void;

/// An array as rows that the library reads, of any strides, without a copy.
/// # Errors
/// [`Argument`](knng::ErrorKind::Argument) for an array that is broadcast, in which one element stands for several; make
/// it one of its own with `to_owned()`.
pub fn rows<T: Element, S: Data<Elem = T>>(x: &ArrayBase<S, Ix2>) -> Result<Rows<'_>> {
    let raw = matrix::<T>(x.as_ptr().cast(), x.dim(), x.strides())?;
    // An array keeps what it views readable and unchanged as long as it is borrowed.
    Ok(unsafe { Rows::from_raw(raw) })
}

/// An array as rows that the library writes to, of any strides.
/// # Errors
/// As [`rows`].
pub fn rows_mut<T: Element, S: DataMut<Elem = T>>(x: &mut ArrayBase<S, Ix2>) -> Result<RowsMut<'_>> {
    let start: *const T = x.as_mut_ptr();
    let raw = matrix::<T>(start.cast(), x.dim(), x.strides())?;
    // An array that can be written to has each element once.
    Ok(unsafe { RowsMut::from_raw(raw) })
}

fn matrix<T: Element>(
    data: *const c_void,
    (rows, columns): (usize, usize),
    strides: &[isize],
) -> Result<sys::knng_matrix> {
    // Of a direction with one element the stride is not looked at; two of 0 would stand for packed rows.
    let stride = |count: usize, stride: isize| if count <= 1 { 1 } else { stride as i64 };
    let (row_stride, col_stride) = (stride(rows, strides[0]), stride(columns, strides[1]));
    if rows > 0 && columns > 0 && (row_stride == 0 || col_stride == 0) {
        return Err(broadcast::<T>());
    }
    let packed = sys::knng_matrix::packed(T::DTYPE.code(), rows as i64, columns as i64, data);
    Ok(sys::knng_matrix { row_stride, col_stride, ..packed })
}

/// What the library says of rows that are all one.
fn broadcast<T: Element>() -> knng::Error {
    let one = [T::default()];
    let overlapping = Rows::strided(&one, 0, 2, 1, 0, 1).and_then(Dataset::from_rows);
    overlapping.expect_err("a stride of 0 is refused")
}

/// A graph's lists as arrays.
pub trait GraphArrays {
    /// Ids, rows x width: the graph's own memory. -1 where there is no neighbour, as only imported graphs have it.
    /// # Panics
    /// If the graph is kept in a device's memory.
    fn ids_array(&self) -> ArrayView2<'_, i64>;

    /// Distances or similarities beside them, if they are `f32`.
    /// # Panics
    /// If the graph is kept in a device's memory.
    fn f32_array(&self) -> Option<ArrayView2<'_, f32>>;

    /// Distances or similarities, if they are `f64`.
    /// # Panics
    /// If the graph is kept in a device's memory.
    fn f64_array(&self) -> Option<ArrayView2<'_, f64>>;

    /// Copies of ids, counted from `base` 0 or 1, and values in other types.
    /// # Errors
    /// As [`Graph::copy_ids`] and [`Graph::copy_values`].
    fn to_arrays<I: Element, V: Element>(&self, base: i32) -> Result<(Array2<I>, Array2<V>)>;
}

fn view<'a, T>(graph: &Graph, numbers: &'a [T]) -> ArrayView2<'a, T> {
    ArrayView2::from_shape((graph.rows(), graph.width()), numbers).expect("as many numbers as the graph has entries")
}

impl GraphArrays for Graph {
    fn ids_array(&self) -> ArrayView2<'_, i64> {
        view(self, self.ids())
    }

    fn f32_array(&self) -> Option<ArrayView2<'_, f32>> {
        self.values().as_f32().map(|values| view(self, values))
    }

    fn f64_array(&self) -> Option<ArrayView2<'_, f64>> {
        self.values().as_f64().map(|values| view(self, values))
    }

    fn to_arrays<I: Element, V: Element>(&self, base: i32) -> Result<(Array2<I>, Array2<V>)> {
        let shape = (self.rows(), self.width());
        let mut ids = Array2::from_elem(shape, I::default());
        let mut values = Array2::from_elem(shape, V::default());
        self.copy_to(base, Some(rows_mut(&mut ids)?), Some(rows_mut(&mut values)?))?;
        Ok((ids, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knng::ErrorKind;
    use ndarray::{s, ShapeBuilder};

    fn points() -> Array2<f32> {
        Array2::from_shape_fn((60, 4), |(i, j)| ((i * i * 31 + j * i * 7) % 97) as f32)
    }

    fn ids(x: ArrayView2<'_, f32>) -> Vec<i64> {
        Dataset::from_rows(rows(&x).unwrap()).unwrap().build(3).unwrap().ids().to_vec()
    }

    #[test]
    fn any_layout() {
        let x = points();
        let wanted = ids(x.view());
        let mut turned = Array2::from_elem((60, 4).f(), 0.0);
        turned.assign(&x);
        assert_eq!(ids(turned.view()), wanted);
        let mut wide = Array2::from_elem((120, 9), f32::NAN);
        wide.slice_mut(s![..;2, 1..;2]).assign(&x);
        assert_eq!(ids(wide.slice(s![..;2, 1..;2])), wanted);
        let backwards = x.slice(s![..;-1, ..]); // a negative stride
        assert_eq!(ids(backwards), ids(backwards.to_owned().view()));
        assert_ne!(ids(backwards), wanted);
        assert_eq!(ids(x.slice(s![.., ..;-1])), wanted); // coordinates in another order
    }

    #[test]
    fn broadcast_is_refused() {
        let one = ndarray::arr2(&[[1.0_f32, 2.0]]);
        let many = one.broadcast((5, 2)).unwrap();
        assert_eq!(rows(&many).unwrap_err().kind(), ErrorKind::Argument);
        let scalar = ndarray::arr0(1.0_f32);
        assert_eq!(rows(&scalar.broadcast((5, 2)).unwrap()).unwrap_err().kind(), ErrorKind::Argument);
        assert!(rows(&one).is_ok());
    }

    #[test]
    fn arrays_out() {
        let x = points();
        let graph = Dataset::from_rows(rows(&x).unwrap()).unwrap().build(3).unwrap();
        let (ids, values) = graph.to_arrays::<i32, f64>(1).unwrap();
        assert_eq!(ids.mapv(|id| i64::from(id) - 1), graph.ids_array());
        assert_eq!(values.mapv(|value| value as f32), graph.f32_array().unwrap());
        assert!(graph.f64_array().is_none());
        assert_eq!(graph.to_arrays::<f32, f32>(0).unwrap_err().kind(), ErrorKind::Argument);
    }
}
