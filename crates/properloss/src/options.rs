//! Options are made by their constructor and changed one by one: a field that is added later breaks nobody.

/// A struct of options and, for each field, `options.with_field(value)`: the same with another value.
macro_rules! options {
    (
        $(#[$of:meta])*
        pub struct $options:ident {
            $( $(#[$about:meta])* pub $field:ident: $type:ty => $set:ident ),+ $(,)?
        }
    ) => {
        $(#[$of])*
        #[must_use]
        pub struct $options {
            $( $(#[$about])* pub $field: $type ),+
        }

        impl $options {
            $(
                #[doc = concat!("The same with another `", stringify!($field), "`.")]
                pub fn $set(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

pub(crate) use options;
