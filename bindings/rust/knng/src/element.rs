//! Element types of matrices.

use knng_sys as sys;

/// A number as an element of rows or results: `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, [`F16`], [`Bf16`] and `bool`.
///
/// Distances are computed from the values as binary64, which must hold them exactly: integers are taken from -2^53 to
/// 2^53. Functions that write results say which types they write.
///
/// Text, complex numbers and options are none:
///
/// ```compile_fail,E0277
/// knng::Rows::new(&["1.5", "2.5"], 1);
/// ```
///
/// ```compile_fail,E0277
/// knng::Rows::new(&[Some(1.5), None], 1);
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, Default)]
/// struct Complex(f64, f64);
/// knng::Rows::new(&[Complex(1.5, 2.5)], 1);
/// ```
///
/// Nor are rows of their own length each, which vectors of vectors may have:
///
/// ```compile_fail,E0277
/// knng::Rows::new(&vec![vec![1.0, 2.0], vec![3.0]], 1);
/// ```
pub trait Element: Copy + Default + Send + Sync + sealed::Sealed + 'static {
    /// The type as data.
    const DTYPE: Dtype;
}

/// An element type as data, numbered as in DLPack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dtype(pub(crate) i32);

impl Dtype {
    /// The number of the type in C: type code << 8 | bits.
    pub const fn code(self) -> i32 {
        self.0
    }

    /// Bytes of an element.
    pub const fn size(self) -> usize {
        ((self.0 & 0xff) / 8) as usize
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An IEEE binary16 number, as its bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct F16(pub u16);

/// A bfloat16 number, the upper half of an `f32`, as its bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Bf16(pub u16);

macro_rules! elements {
    ($($element:ty => $code:ident,)*) => {$(
        impl sealed::Sealed for $element {}
        impl Element for $element {
            const DTYPE: Dtype = Dtype(sys::$code);
        }
    )*};
}

elements! {
    i8 => KNNG_I8,
    i16 => KNNG_I16,
    i32 => KNNG_I32,
    i64 => KNNG_I64,
    u8 => KNNG_U8,
    u16 => KNNG_U16,
    u32 => KNNG_U32,
    u64 => KNNG_U64,
    F16 => KNNG_F16,
    f32 => KNNG_F32,
    f64 => KNNG_F64,
    Bf16 => KNNG_BF16,
    bool => KNNG_BOOL,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_size<T: Element>() {
        assert_eq!(T::DTYPE.size(), std::mem::size_of::<T>());
    }

    #[test]
    fn sizes() {
        has_size::<i8>();
        has_size::<i16>();
        has_size::<i32>();
        has_size::<i64>();
        has_size::<u8>();
        has_size::<u16>();
        has_size::<u32>();
        has_size::<u64>();
        has_size::<F16>();
        has_size::<f32>();
        has_size::<f64>();
        has_size::<Bf16>();
        has_size::<bool>();
    }
}
