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
    /// A matrix cell is NaN or infinite.
    #[error(
        "row {row}, column {column} is {value}; every value must be finite (fill in or drop missing values first)"
    )]
    NotFiniteCell {
        /// Row of the cell, from 0.
        row: usize,
        /// Column of the cell, from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// The values of a dense matrix do not fill its shape.
    #[error("a matrix of {rows} rows and {columns} columns cannot hold {length} value(s)")]
    MatrixShape {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Values given.
        length: usize,
    },
    /// A sparse matrix stores a value in a column it does not have.
    #[error("row {row} stores a value in column {column}, but there are {columns} columns")]
    SparseColumn {
        /// Row of the value, from 0.
        row: usize,
        /// Its column.
        column: usize,
        /// Number of columns.
        columns: usize,
    },
    /// The columns within a row of a sparse matrix do not increase strictly.
    #[error(
        "row {row} stores column {column} out of order or twice; sort the columns of each row and add up duplicates first"
    )]
    SparseOrder {
        /// The row, from 0.
        row: usize,
        /// The first column that is not above the one before it.
        column: usize,
    },
    /// Every row (of positive weight) has the same label.
    #[error("every label is {label}; a classifier needs rows of both classes")]
    OneClass {
        /// The only label found.
        label: u8,
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
        "the link {link} stays away from 0 and 1, or nears them so slowly that its canonical loss is not \
         finite; use a CompositeLoss, log-loss under this link"
    )]
    UnboundedLoss {
        /// The link.
        link: String,
    },
    /// The canonical loss of this link has no minimum of its own.
    #[error(
        "the link {link} reaches 0 or 1 too slowly or not at all: its canonical loss is known up to \
         a constant only and has no lower bound; give a penalty, l2 > 0"
    )]
    NeedsPenalty {
        /// The link.
        link: String,
    },
    /// A sequence that has to be in order is not.
    #[error("{what}[{index}] is {value}, below {what}[{}], which is {previous}; sort it first", index - 1)]
    NotSorted {
        /// Which sequence.
        what: &'static str,
        /// Position of the first value below its predecessor.
        index: usize,
        /// The value before it.
        previous: f64,
        /// The value.
        value: f64,
    },
    /// The lower slope bound alone climbs higher than the box allows.
    #[error(
        "slope_min {slope_min} over scores of range {range} climbs out of the bounds; \
         the largest feasible slope_min is {largest_slope_min}"
    )]
    InfeasibleSlope {
        /// The bound asked for.
        slope_min: f64,
        /// `z_m - z_1`.
        range: f64,
        /// The largest bound with a feasible point.
        largest_slope_min: f64,
    },
    /// The upper slope bound keeps the last value below its own lower bound.
    #[error(
        "the last value must be at least {last_min}, but can reach {reachable} only; \
         the smallest slope_max that reaches it is {smallest_slope_max}"
    )]
    UnreachableLast {
        /// The lower bound of the last value.
        last_min: f64,
        /// The largest last value possible.
        reachable: f64,
        /// The smallest `slope_max` with a feasible point.
        smallest_slope_max: f64,
    },
    /// A class has too few rows (of positive weight) to hold some of them out.
    #[error(
        "class {label} has {rows} row(s); cross-validation needs at least {minimum} of each class"
    )]
    ClassTooSmall {
        /// The class.
        label: u8,
        /// Its rows.
        rows: usize,
        /// The least number accepted.
        minimum: usize,
    },
    /// A fold holds no row.
    #[error("fold {fold} has no row; number the folds 0, 1, ... without gaps")]
    EmptyFold {
        /// The fold.
        fold: usize,
    },
    /// Without this fold a class has no row left.
    #[error(
        "all rows of class {label} are in fold {fold}; spread every class over two folds or more"
    )]
    ClassInOneFold {
        /// The class.
        label: u8,
        /// The fold that holds it.
        fold: usize,
    },
    /// The canonical loss of a link of several classes has no lower bound.
    #[error(
        "the floor of the other classes keeps class {class} from probability 1: the canonical loss \
         of this link has no lower bound; use its log-loss, or a link without a floor"
    )]
    UnboundedVectorLoss {
        /// A class with an infinite conjugate.
        class: usize,
    },
    /// A class of several has no row of positive weight.
    #[error(
        "class {class} of {classes} has no row (of positive weight); leave the class out of the labels"
    )]
    ClassWithoutRows {
        /// The class.
        class: usize,
        /// Number of classes.
        classes: usize,
    },
    /// The run was asked to end.
    #[error("interrupted")]
    Interrupted,
    /// A checkpoint does not fit the run it was given to.
    #[error("the checkpoint does not fit: {reason}")]
    Checkpoint {
        /// What does not fit.
        reason: String,
    },
    /// Rows gave another kind of answer than the question has.
    #[error("the rows did not answer the question; expected {expected}")]
    WrongAnswer {
        /// What the question asks for.
        expected: &'static str,
    },
    /// What was asked for cannot be had of rows in blocks.
    #[error("{what} needs all rows in memory; rows in blocks will not do")]
    NeedsMemory {
        /// What.
        what: &'static str,
    },
    /// A block has other columns than those before it.
    #[error("block {block} has {columns} column(s), but those before it have {expected}")]
    BlockColumns {
        /// Its number, from 0.
        block: usize,
        /// Its columns.
        columns: usize,
        /// Those of the blocks before it.
        expected: usize,
    },
    /// A block could not be had, or did not answer.
    #[error("{reason}")]
    Block {
        /// Which, and why.
        reason: String,
    },
    /// An option that the method does not take, or a value that it does not allow.
    #[error("{option} is {value}; it must be {expected}")]
    Option {
        /// Its name.
        option: String,
        /// The value given.
        value: String,
        /// What is accepted, in words.
        expected: String,
    },
    /// No method has this name.
    #[error("there is no method named {name:?}; the known methods are {known}")]
    UnknownMethod {
        /// The name asked for.
        name: String,
        /// The names of the registry.
        known: String,
    },
    /// No row can be held out: the model without it would not know its class.
    #[error(
        "no row can be held out: each of the {classes} classes has a single row, or all its rows in \
         one fold; cross-validation needs a class with two rows in different folds"
    )]
    NothingToHoldOut {
        /// Number of classes.
        classes: usize,
    },
}

/// Two sequences that go together are equally long; each comes with its name.
pub(crate) fn same_length(
    (what, length): (&'static str, usize),
    (other, other_length): (&'static str, usize),
) -> Result<()> {
    if length == other_length {
        return Ok(());
    }
    Err(Error::LengthMismatch { what, length, other, other_length })
}

/// `value` is as it must be, `expected` in words.
pub(crate) fn require(
    what: &'static str,
    value: f64,
    expected: &'static str,
    holds: bool,
) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::OutOfDomain { what, value, expected }) }
}

/// The same of one of many values.
pub(crate) fn require_at(
    what: &'static str,
    index: usize,
    value: f64,
    expected: &'static str,
    holds: bool,
) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::ElementOutOfDomain { what, index, value, expected }) }
}

/// Every value is one of those that `valid` takes, `expected` in words.
pub(crate) fn each(
    what: &'static str,
    values: &[f64],
    expected: &'static str,
    valid: impl Fn(f64) -> bool,
) -> Result<()> {
    match values.iter().position(|&value| !valid(value)) {
        None => Ok(()),
        Some(index) => {
            Err(Error::ElementOutOfDomain { what, index, value: values[index], expected })
        }
    }
}

/// Every value is finite.
pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
    }
}

/// The weights of rows.
pub(crate) fn row_weights(weights: &[f64]) -> Result<()> {
    if weights.iter().all(|&w| w >= 0.0 && w.is_finite()) {
        return Ok(());
    }
    finite("weights", weights)?;
    each("weights", weights, "0 (the row is left out) or positive", |w| w >= 0.0)
}

/// Their sum; rows without any weight are no rows.
pub(crate) fn total_weight(total: f64) -> Result<()> {
    let holds = total > 0.0 && total.is_finite();
    require("the sum of the weights", total, "positive and finite", holds)
}

/// The labels of rows of two classes.
pub(crate) fn binary_labels(labels: &[u8]) -> Result<()> {
    match labels.iter().position(|&label| label > 1) {
        None => Ok(()),
        Some(index) => {
            let (what, value) = ("labels", f64::from(labels[index]));
            Err(Error::ElementOutOfDomain { what, index, value, expected: "0 or 1" })
        }
    }
}

/// The labels of rows of several classes.
pub(crate) fn class_labels(labels: &[u32], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| label as usize >= classes) {
        None => Ok(()),
        Some(index) => Err(Error::ElementOutOfDomain {
            what: "labels",
            index,
            value: f64::from(labels[index]),
            expected: "a class, from 0 to below the number of classes",
        }),
    }
}
