//! Options are made by their constructor and changed one by one: a field that is added later breaks nobody.

/// A struct of options and, for each field, `options.with_field(value)`: the same with another value. A
/// field whose setter has a value of its own, `=> without_field = false`, is set to it by name.
///
/// For the crates of this workspace; nothing that others may build on.
#[doc(hidden)]
#[macro_export]
macro_rules! options {
    (
        $(#[$of:meta])*
        pub struct $options:ident {
            $( $(#[$about:meta])* pub $field:ident: $type:ty => $set:ident $(= $value:literal)? ),+ $(,)?
        }
    ) => {
        $(#[$of])*
        #[must_use]
        pub struct $options {
            $( $(#[$about])* pub $field: $type ),+
        }

        impl $options {
            $( $crate::options!(@set $field: $type => $set $(= $value)?); )+
        }
    };
    (@set $field:ident: $type:ty => $set:ident) => {
        #[doc = concat!("The same with another `", stringify!($field), "`.")]
        pub fn $set(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    };
    (@set $field:ident: $type:ty => $set:ident = $value:literal) => {
        #[doc = concat!("The same with `", stringify!($field), " = ", stringify!($value), "`.")]
        pub fn $set(mut self) -> Self {
            self.$field = $value;
            self
        }
    };
}

pub(crate) use options;
