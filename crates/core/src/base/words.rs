//! Enumerations that files name by words.

/// Lets files name the values of an enumeration by words, and with `named` values tell their words.
/// The word is read as a string, because a reader of its own for each enumeration would be compiled each time.
macro_rules! words {
    ($type:ident: $($name:literal = $variant:ident),+ $(,)?) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<$type, D::Error> {
                let word = <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?;
                match word.as_str() {
                    $($name => Ok($type::$variant),)+
                    other => Err(::serde::de::Error::unknown_variant(other, &[$($name),+])),
                }
            }
        }
    };
    (named $visible:vis $type:ident: $($name:literal = $variant:ident),+ $(,)?) => {
        words!($type: $($name = $variant),+);

        impl $type {
            /// Name in files.
            $visible fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }

            /// Value with this name.
            #[allow(dead_code, reason = "not every enumeration is read by its words")]
            pub(crate) fn named(name: &str) -> Option<$type> {
                match name { $($name => Some($type::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;
