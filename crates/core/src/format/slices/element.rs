//! Elements of slices: codes, or numbers whose bits are codes.

use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::Code;

/// Element of a slice: a code (`u8`, `u16`), or a number of the crate `half`.
pub trait SliceElement: Copy + Default + Send + Sync + 'static {
    /// Integer that holds the code.
    type Code: Code;

    /// Name of the only format of its codes; `None`: every format that is narrow enough.
    const FORMAT: Option<&'static str>;

    /// The same slice as codes.
    fn codes(elements: &[Self]) -> &[Self::Code];

    /// The same slice as writable codes.
    fn codes_mut(elements: &mut [Self]) -> &mut [Self::Code];
}

macro_rules! codes {
    ($($type:ty),+) => {$(
        impl SliceElement for $type {
            type Code = $type;
            const FORMAT: Option<&'static str> = None;

            fn codes(elements: &[Self]) -> &[Self] {
                elements
            }

            fn codes_mut(elements: &mut [Self]) -> &mut [Self] {
                elements
            }
        }
    )+};
}
codes!(u8, u16);

macro_rules! halves {
    ($($type:ty: $format:literal),+) => {$(
        impl SliceElement for $type {
            type Code = u16;
            const FORMAT: Option<&'static str> = Some($format);

            fn codes(elements: &[Self]) -> &[u16] {
                elements.reinterpret_cast()
            }

            fn codes_mut(elements: &mut [Self]) -> &mut [u16] {
                elements.reinterpret_cast_mut()
            }
        }
    )+};
}
halves!(f16: "f16", bf16: "bf16");
