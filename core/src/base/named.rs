//! Values that have names, in options and in files: one row for each.

/// A value of a fixed list, by the name that options, files and reports give it.
pub trait Named: Copy + 'static {
    /// Every value, in the order of lists.
    fn all() -> &'static [Self];

    /// The name.
    fn name(self) -> &'static str;

    /// What it is, in words.
    fn meaning(self) -> &'static str;
}

/// An enumeration whose rows are `Variant = "name": "what it is, in words";`. The words are the variant's documentation, too.
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
            /// Every value, in the order of lists.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name, as in options and reports.
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
