//! Options are made by their constructor and changed one by one: a field that is added later breaks nobody.

/// `options.with_field(value)` for each field: the same options with another value.
macro_rules! setters {
    ($options:ident { $($set:ident = $field:ident: $of:ty),+ $(,)? }) => {
        impl $options {
            $(
                #[doc = concat!("The same with another `", stringify!($field), "`.")]
                #[must_use]
                pub fn $set(mut self, $field: $of) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;
