//! Groups: rows that belong together, such as the loans of one customer, and splits that keep them so.

use std::collections::{HashMap, HashSet};

use properloss::proper::deal_groups;

use crate::encoder::{Encoded, Encoder, cell_text};
use crate::error::{Error, Result};
use crate::options::{LabelUse, ReadOptions, UnknownCategory};
use crate::read::{Format, open_table};
use crate::source::Source;
use crate::split::{Split, bad_share};
use crate::table::find_column;

/// The group of every example that [`crate::read()`] takes from this file, numbered as they appear:
/// rows that it leaves out (missing values, other classes, weight 0) are left out here.
pub fn read_groups(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
    column: &str,
) -> Result<Vec<u32>> {
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(source)?,
    };
    if matches!(format, Format::Libsvm | Format::Idx) {
        let (file, format) = (source.name().to_path_buf(), format.name());
        return Err(Error::NoColumns { file, format, role: "group" });
    }
    let mut table = open_table(source, format, options)?;
    let bound = encoder.bind(table.as_mut(), LabelUse::Require, UnknownCategory::Error)?;
    let index = find_column(table.as_ref(), "group", column)?;
    table.select(&[index])?;
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let (mut of_row, mut features) = (Vec::new(), vec![0.0; encoder.width()]);
    while let Some(position) = table.next_row()? {
        match bound.encode(table.as_ref(), position, true, &mut features)? {
            Encoded::Row { weight, .. } if weight > 0.0 => {}
            _ => continue,
        }
        let cell = table.cell(index);
        let text = cell_text(&cell);
        if encoder.is_missing(&cell) {
            let place = table.place(position, index);
            return Err(Error::MissingValue { place, value: text.into_owned() });
        }
        let next = numbers.len() as u32;
        let number = match numbers.get(text.as_ref()) {
            Some(&number) => number,
            None => *numbers.entry(text.into_owned()).or_insert(next),
        };
        of_row.push(number);
    }
    Ok(of_row)
}

/// The fold of every row, as cross-validation takes it ([`deal_groups`]); no class is in one fold alone.
pub fn fold_of_row(labels: &[u8], groups: &[u32], k: usize, seed: u64) -> Result<Vec<u32>> {
    let labels = numbers(labels);
    let fold = dealt(&labels, groups, &shares_of(k)?, seed)?;
    spread(&labels, &fold, 2, k, None)?;
    Ok(fold)
}

/// `k` splits as [`crate::split::folds`], but rows of one group are never apart: `groups[i]` is row `i`'s.
pub fn grouped_folds(labels: &[u8], groups: &[u32], k: usize, seed: u64) -> Result<Vec<Split>> {
    let labels = numbers(labels);
    let fold = dealt(&labels, groups, &shares_of(k)?, seed)?;
    spread(&labels, &fold, k, k, None)?;
    Ok(splits(&fold, k))
}

/// A share `test_share` of each class to the test part as [`crate::split::train_test`] does, as nearly as whole
/// groups allow.
pub fn grouped_train_test(
    labels: &[u8],
    groups: &[u32],
    test_share: f64,
    seed: u64,
) -> Result<Split> {
    let labels = numbers(labels);
    let part = dealt(&labels, groups, &train_and_test(test_share)?, seed)?;
    spread(&labels, &part, 2, 2, None)?;
    Ok(test_part(&part))
}

/// [`grouped_folds`] for three classes or more. A group that holds all rows of a class is in no test part.
pub fn grouped_folds_of_classes(
    labels: &[u32],
    groups: &[u32],
    k: usize,
    seed: u64,
) -> Result<Vec<Split>> {
    let shares = shares_of(k)?;
    let fold = dealt_if_shared(labels, groups, &shares, seed, NEVER)?;
    Ok(splits(&fold, k))
}

/// [`grouped_train_test`] for three classes or more. A group that holds all rows of a class stays in the
/// training part.
pub fn grouped_train_test_of_classes(
    labels: &[u32],
    groups: &[u32],
    test_share: f64,
    seed: u64,
) -> Result<Split> {
    let shares = train_and_test(test_share)?;
    Ok(test_part(&dealt_if_shared(labels, groups, &shares, seed, 0)?))
}

/// The part of a row that is never held out.
const NEVER: u32 = u32::MAX;

fn numbers(labels: &[u8]) -> Vec<u32> {
    labels.iter().map(|&label| u32::from(label != 0)).collect()
}

fn shares_of(k: usize) -> Result<Vec<f64>> {
    if k < 2 {
        return Err(Error::BadOption {
            what: "the number of folds",
            value: k.to_string(),
            expected: "2 or more".into(),
        });
    }
    Ok(vec![1.0 / k as f64; k])
}

fn train_and_test(test_share: f64) -> Result<[f64; 2]> {
    if !(test_share > 0.0 && test_share < 1.0) {
        return Err(bad_share(test_share));
    }
    Ok([1.0 - test_share, test_share])
}

fn splits(fold: &[u32], k: usize) -> Vec<Split> {
    let split = |j: usize| {
        let (test, train) = (0..fold.len()).partition(|&row| fold[row] == j as u32);
        Split { train, test }
    };
    (0..k).map(split).collect()
}

fn test_part(part: &[u32]) -> Split {
    let (test, train) = (0..part.len()).partition(|&row| part[row] == 1);
    Split { train, test }
}

fn dealt(labels: &[u32], groups: &[u32], shares: &[f64], seed: u64) -> Result<Vec<u32>> {
    deal_groups(labels, groups, shares, seed).map_err(|error| match error {
        properloss::Error::TooShort { length, minimum, .. } => {
            Error::TooFewGroups { found: length, needed: minimum }
        }
        error => error.into(),
    })
}

/// The same of the groups that hold no class alone; rows of the others are in part `stay`.
fn dealt_if_shared(
    labels: &[u32],
    groups: &[u32],
    shares: &[f64],
    seed: u64,
    stay: u32,
) -> Result<Vec<u32>> {
    // For each class its only group, or none.
    let mut only: HashMap<u32, Option<u32>> = HashMap::new();
    for (&label, &group) in labels.iter().zip(groups) {
        let known = only.entry(label).or_insert(Some(group));
        if *known != Some(group) {
            *known = None;
        }
    }
    let needed: HashSet<u32> = only.into_values().flatten().collect();
    let rows: Vec<usize> = (0..labels.len()).filter(|&i| !needed.contains(&groups[i])).collect();
    let of = |values: &[u32]| rows.iter().map(|&i| values[i]).collect::<Vec<_>>();
    let mut part = vec![stay; labels.len()];
    let dealt = dealt(&of(labels), &of(groups), shares, seed)?;
    rows.iter().zip(dealt).for_each(|(&row, own)| part[row] = own);
    spread(labels, &part, 2, shares.len(), Some(stay))?;
    Ok(part)
}

/// Every class has rows in this many of the parts, or in the one that is always trained on; an error says
/// which has not.
fn spread(
    labels: &[u32],
    part: &[u32],
    needed: usize,
    parts: usize,
    trained: Option<u32>,
) -> Result<()> {
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut parts_of = vec![HashSet::new(); classes];
    for (&label, &part) in labels.iter().zip(part) {
        parts_of[label as usize].insert(part);
    }
    for (class, own) in parts_of.iter().enumerate() {
        let safe = own.is_empty() || trained.is_some_and(|part| own.contains(&part));
        if own.len() < needed && !safe {
            let (class, found) = (class.to_string(), own.len());
            return Err(Error::ClassInFewGroups { class, found, needed: parts });
        }
    }
    Ok(())
}
