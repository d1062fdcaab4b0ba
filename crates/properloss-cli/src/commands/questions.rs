//! Questions about columns that are seldom meant as they are read.

use properloss_data::encoder::ColumnKind;
use properloss_data::error::clipped;
use properloss_data::{Encoder, Features};

use crate::output::Talk;

/// With fewer rows, values that are all different mean nothing.
const FEW_ROWS: usize = 20;

/// Values that are gathered from the rows at a time: rows are copied whole, so that one column after
/// the other would copy all of them for each.
const AT_ONCE: usize = 1 << 20;

/// Asks about columns of whole numbers that are all different (identifiers are no features), and about texts
/// that look like something else.
pub(super) fn column_questions(encoder: &Encoder, features: &Features, talk: Talk) {
    let rows = features.rows();
    text_questions(encoder, rows, talk);
    let names = encoder.feature_names();
    if rows < FEW_ROWS || names.len() != features.columns() {
        return;
    }
    let mut row = vec![0.0; features.columns()];
    let mut left: Vec<usize> = (0..names.len()).collect();
    for i in 0..rows {
        if left.is_empty() {
            return;
        }
        features.copy_row(i, &mut row);
        left.retain(|&j| row[j].fract() == 0.0 && row[j].abs() < 9e15);
    }
    for columns in left.chunks(AT_ONCE / rows + 1) {
        let mut values = vec![Vec::with_capacity(rows); columns.len()];
        for i in 0..rows {
            features.copy_row(i, &mut row);
            columns.iter().zip(&mut values).for_each(|(&j, values)| values.push(row[j] as i64));
        }
        for (&j, values) in columns.iter().zip(&mut values) {
            values.sort_unstable();
            if values.windows(2).all(|pair| pair[0] != pair[1]) {
                talk.say(format!(
                    "warning: column {0:?} holds a different whole number in every row: is it an \
                     identifier? Leave it out with --ignore {0:?}",
                    clipped(&names[j])
                ));
            }
        }
    }
}

/// Texts that are nearly all different, dates and numbers in a writing that is not read as one.
fn text_questions(encoder: &Encoder, rows: usize, talk: Talk) {
    for column in &encoder.columns {
        let ColumnKind::Categorical { categories, .. } = &column.kind else { continue };
        let name = &clipped(&column.name);
        let all = |test: fn(&str) -> bool| categories.iter().all(|text| test(text));
        let count = categories.len();
        if count > 2 && all(looks_like_a_date) {
            talk.say(format!(
                "warning: column {name:?} holds {count} different texts that look like dates: write \
                 them as 2024-01-31 to have them read as dates, or leave it out with --ignore {name:?}"
            ));
        } else if count > 2
            && all(has_a_decimal_comma)
            && categories.iter().any(|text| text.contains(','))
        {
            talk.say(format!(
                "warning: column {name:?} holds {count} different texts that look like numbers with a \
                 comma: write 1.5 for 1,5 to have them read as numbers"
            ));
        } else if rows >= FEW_ROWS && 2 * count > rows {
            talk.say(format!(
                "warning: column {name:?} holds {count} different texts in {rows} rows, each a feature \
                 of its own: is it an identifier? Leave it out with --ignore {name:?}"
            ));
        }
    }
}

/// `31/01/2024`, `31.1.24`, `2024/01/31`: three numbers with one mark between them.
fn looks_like_a_date(text: &str) -> bool {
    ['/', '.', '-'].iter().any(|&mark| {
        let parts: Vec<&str> = text.split(mark).collect();
        let number = |part: &&str| {
            (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        parts.len() == 3 && parts.iter().all(number)
    })
}

/// `1,5` and `-0,25`, not `1,500,000`.
fn has_a_decimal_comma(text: &str) -> bool {
    let bare = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    bare.split_once(',').map_or_else(|| digits(bare), |(whole, part)| digits(whole) && digits(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_texts_look_like() {
        for date in ["31/01/2024", "31.1.24", "2024/01/31", "1-2-2024"] {
            assert!(looks_like_a_date(date), "{date}");
        }
        for other in ["1/2", "a/b/c", "31/01/2024/5", "12345/1/1", "//", "1.5", ""] {
            assert!(!looks_like_a_date(other), "{other}");
        }
        for number in ["1,5", "-0,25", "7"] {
            assert!(has_a_decimal_comma(number), "{number}");
        }
        for other in ["1,500,000", ",5", "1,", "a,b", "", "-"] {
            assert!(!has_a_decimal_comma(other), "{other}");
        }
    }
}
