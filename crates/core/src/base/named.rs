//! Values with names, in options and in files: one row each.

/// Value of a fixed list, with its name in options, files and reports.
pub trait Named: Copy + 'static {
    /// All values, in the order of lists.
    fn all() -> &'static [Self];

    /// Name of the value.
    fn name(self) -> &'static str;

    /// Meaning of the value, in words.
    fn meaning(self) -> &'static str;
}

/// Enumeration with rows `Variant = "name": "meaning";`.
/// The meaning is the variant's documentation, too.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        $visible:vis enum $type:ident { $($variant:ident = $name:literal: $meaning:literal;)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $visible enum $type {
            $(#[doc = concat!($meaning, ".")] $variant,)+
        }

        impl $type {
            /// All values, in the order of lists.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// Name in options and reports.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }
        }

        impl $crate::base::named::Named for $type {
            fn all() -> &'static [Self] {
                &Self::ALL
            }

            fn name(self) -> &'static str {
                self.name()
            }

            fn meaning(self) -> &'static str {
                match self { $($type::$variant => $meaning),+ }
            }
        }
    };
}
pub use crate::named;
