//! One error type for the whole core; every variant carries the place and the value that caused it.

/// `Result` with the crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with the input of a function of this crate.
///
/// Messages name the place and the value and say what would be accepted. Nothing in the crate
/// panics on user input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that has to be finite is NaN or infinite.
    #[error("{what}[{index}] is {value}; every value must be finite")]
    NotFinite {
        /// Which sequence.
        what: &'static str,
        /// Position of the value.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A scalar argument lies outside its domain.
    #[error("{what} is {value}; it must be {expected}")]
    OutOfDomain {
        /// Which argument.
        what: &'static str,
        /// The value.
        value: f64,
        /// What is accepted, in words.
        expected: &'static str,
    },
    /// An element of a sequence lies outside its domain.
    #[error("{what}[{index}] is {value}; it must be {expected}")]
    ElementOutOfDomain {
        /// Which sequence.
        what: &'static str,
        /// Position of the value.
        index: usize,
        /// The value.
        value: f64,
        /// What is accepted, in words.
        expected: &'static str,
    },
    /// A sequence does not increase strictly.
    #[error(
        "{what}[{index}] is {value}, but {what}[{}] is {previous}; {what} must increase strictly",
        index - 1
    )]
    NotIncreasing {
        /// Which sequence.
        what: &'static str,
        /// Position of the first value that is not above its predecessor.
        index: usize,
        /// The value before it.
        previous: f64,
        /// The value.
        value: f64,
    },
    /// A sequence is too short.
    #[error("{what} has {length} value(s); at least {minimum} are needed")]
    TooShort {
        /// Which sequence.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The least length accepted.
        minimum: usize,
    },
    /// Two sequences that go together have different lengths.
    #[error("{what} has {length} value(s), but {other} has {other_length}; they must agree")]
    LengthMismatch {
        /// The first sequence.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The second sequence.
        other: &'static str,
        /// Its length.
        other_length: usize,
    },
    /// No link has this name.
    #[error("there is no link named {name:?}; the known links are {known}")]
    UnknownLink {
        /// The name asked for.
        name: String,
        /// The names of the registry.
        known: String,
    },
    /// A link was given the wrong number of parameters.
    #[error("the link {name} takes {expected} parameter(s) ({parameters}), not {given}")]
    ParameterCount {
        /// The link.
        name: &'static str,
        /// How many it takes.
        expected: usize,
        /// Their names.
        parameters: String,
        /// How many were given.
        given: usize,
    },
    /// The canonical loss of this link is infinite everywhere.
    #[error(
        "the link {link} has tails so heavy that its canonical loss is infinite; \
         use a CompositeLoss (for example log-loss with this link)"
    )]
    UnboundedLoss {
        /// The link.
        link: String,
    },
}
