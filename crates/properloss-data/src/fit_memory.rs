//! What a fit takes beside its rows, estimated before it begins.
//!
//! ```text
//! rows x a number of bytes       scores, folds, orders, and what measuring the model keeps
//! columns x a number of bytes    weights of all models, their gradients, and what the search remembers
//! columns² x 8                   Grams, where a method has them
//! ```
//!
//! The numbers of rows were measured (docs/reliability.md) and rounded up, those of columns counted
//! from the code: an estimate may be some times too large.

use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::memory::Budget;

/// Less than this is not worth a question.
const NOTHING: u64 = 32 << 20;
/// The columns up to which the default has Grams, and the most numbers in them.
const GRAM_COLUMNS: u64 = 1024;
const GRAM_NUMBERS: u64 = 1 << 26;
/// The most numbers in their partial sums.
const PARTIAL_NUMBERS: u64 = 1 << 25;
/// Models in one group of interleaved numbers.
const LANES: u64 = 8;

/// What the memory of a fit depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitShape {
    /// Rows that are held in memory; 0 for rows in blocks.
    pub rows: u64,
    /// Columns of the encoded rows.
    pub columns: u64,
    /// Stored values.
    pub stored: u64,
    /// Classes.
    pub classes: u64,
    /// Folds of a cross-validation; 0 for none.
    pub folds: u64,
}

/// How many bytes may be used now, where someone counts them: the program's allocator.
static LEFT: OnceLock<fn() -> u64> = OnceLock::new();

/// From now on `left` says how many bytes may be used. (The first one counts.)
pub fn count_with(left: fn() -> u64) {
    let _ = LEFT.set(left);
}

/// Bytes that a fit of this method takes beside its rows, about.
pub fn needed(method: &str, shape: &FitShape) -> u64 {
    let FitShape { rows, columns, stored, classes, folds } = *shape;
    let d = columns.saturating_add(1);
    let product = |numbers: &[u64]| numbers.iter().fold(1u64, |a, &b| a.saturating_mul(b));
    let (by_row, by_column, squares) = match method {
        "proper" if classes > 2 => {
            let models = product(&[folds + 1, classes]);
            let squares = if d <= GRAM_COLUMNS { 4 } else { 0 };
            (64 + 64 * classes, product(&[models, PER_MODEL]), squares)
        }
        "proper" => {
            let groups = (folds + 1).div_ceil(LANES);
            // Partial sums of the gradient: by the stored values, at most 64 parts.
            let parts = (stored / product(&[8, d])).clamp(1, 64);
            let grams = product(&[folds, d, d]) <= GRAM_NUMBERS && d <= GRAM_COLUMNS;
            let parts_of_grams = (PARTIAL_NUMBERS / product(&[folds.max(1), d, d])).clamp(1, 16);
            let parts_of_grams = parts_of_grams.min((rows / (512 * folds.max(1))).max(1));
            let squares = if grams { folds * (parts_of_grams + 4) } else { 0 };
            (192, product(&[groups, LANES, PER_MODEL]) + 64 * parts, squares)
        }
        "calibrate" => (192 + 64 * classes, 0, 0),
        // Newton's method has a Gram where columns are few.
        "logistic" | "canonical" | "composite" => (128, 256, if d <= GRAM_COLUMNS { 4 } else { 0 }),
        // Those that sort the scores and fit a link in every iteration.
        _ => (192, 256, 0),
    };
    let terms = [[rows, by_row, 1], [d, by_column, 1], [d, d, 8u64.saturating_mul(squares)]];
    terms.iter().fold(0u64, |sum, term| sum.saturating_add(product(term)))
}

/// Bytes of a column in one model of the default: weights of the path, and what descent remembers.
const PER_MODEL: u64 = 512;

/// Asks for what a fit takes; refuses with the number.
pub fn ask(method: &str, shape: &FitShape) -> Result<()> {
    let needed = needed(method, shape);
    if needed <= NOTHING {
        return Ok(());
    }
    let budget = LEFT.get().map_or_else(|| Budget::of_machine().bytes(), |left| left());
    if needed <= budget {
        return Ok(());
    }
    Err(Error::FitMemory { method: method.to_owned(), needed, budget })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: FitShape =
        FitShape { rows: 1000, columns: 10, stored: 10_000, classes: 2, folds: 5 };

    #[test]
    fn more_of_anything_is_not_less() {
        for method in ["proper", "logistic", "bregmantron", "calibrate"] {
            let base = needed(method, &SHAPE);
            assert!(base >= 128 * 1000, "{method}: {base}");
            for more in [
                FitShape { rows: 2000, ..SHAPE },
                FitShape { columns: 20, ..SHAPE },
                FitShape { classes: 4, ..SHAPE },
                FitShape { folds: 10, ..SHAPE },
            ] {
                assert!(needed(method, &more) >= base || more.classes > 2, "{method} {more:?}");
            }
        }
        let wide = FitShape { columns: 1 << 28, ..SHAPE };
        // Weights of six models in eight lanes, 512 bytes a column each.
        assert!(needed("proper", &wide) > (1 << 28) * 4096);
        let endless =
            FitShape { rows: u64::MAX, columns: u64::MAX, stored: 0, classes: 9, folds: 9 };
        assert_eq!(needed("proper", &endless), u64::MAX);
    }

    #[test]
    fn what_no_machine_has_is_refused_with_the_number() {
        let error = ask("proper", &FitShape { columns: 1 << 36, ..SHAPE }).unwrap_err();
        let told = error.to_string();
        assert!(told.starts_with("fitting proper takes about 2"), "{told}");
        assert!(told.contains(" TB beside the rows, but "), "{told}");
        assert!(ask("proper", &SHAPE).is_ok());
    }
}
