//! Groups: rows that belong together, such as the loans of one customer, and splits that keep them so.

use std::collections::{HashMap, HashSet};

use properloss::proper::deal_groups;

use crate::dataset::ClassLabel;
use crate::encode_row::cell_text;
use crate::encoder::{Encoded, Encoder, Purpose};
use crate::error::{Error, Result};
use crate::options::{LabelUse, ReadOptions, UnknownCategory};
use crate::read::{Format, open_table};
use crate::source::Source;
use crate::split::{NEVER, Split, check_folds, check_share, held_out, held_out_each};
use crate::table::find_column;

/// The group of every example that [`crate::read()`] takes from this file, numbered as they appear:
/// rows that it leaves out (missing values, other classes, weight 0) are left out here.
pub fn read_groups(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
    column: &str,
) -> Result<Vec<u32>> {
    let format = options.format_of(source)?;
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
        match bound.encode(table.as_ref(), position, Purpose::Training, &mut features)? {
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

/// `k` splits as [`crate::split::folds`], but rows of one group are never apart: `groups[i]` is row `i`'s. Of three
/// classes or more, a group that holds all rows of a class is in no test part.
pub fn grouped_folds<L: ClassLabel>(
    labels: &[L],
    groups: &[u32],
    k: usize,
    seed: u64,
) -> Result<Vec<Split>> {
    Ok(held_out_each(&parts(labels, groups, &shares_of(k)?, seed, k, NEVER)?, k))
}

/// A share `test_share` of each class to the test part as [`crate::split::train_test`] does, as nearly as whole
/// groups allow. Of three classes or more, a group that holds all rows of a class stays in the training part.
pub fn grouped_train_test<L: ClassLabel>(
    labels: &[L],
    groups: &[u32],
    test_share: f64,
    seed: u64,
) -> Result<Split> {
    check_share(test_share)?;
    let shares = [1.0 - test_share, test_share];
    Ok(held_out(&parts(labels, groups, &shares, seed, 2, 0)?, 1))
}

/// The part of every row: each of two classes is in `needed` of them; of more, groups that hold a class alone
/// are in part `stay`.
fn parts<L: ClassLabel>(
    labels: &[L],
    groups: &[u32],
    shares: &[f64],
    seed: u64,
    needed: usize,
    stay: u32,
) -> Result<Vec<u32>> {
    let labels = numbers(labels);
    if !L::IN_EVERY_PART {
        return dealt_if_shared(&labels, groups, shares, seed, stay);
    }
    let part = dealt(&labels, groups, shares, seed)?;
    spread(&labels, &part, needed, shares.len(), None)?;
    Ok(part)
}

fn numbers<L: ClassLabel>(labels: &[L]) -> Vec<u32> {
    labels.iter().map(|label| label.class() as u32).collect()
}

fn shares_of(k: usize) -> Result<Vec<f64>> {
    check_folds(k)?;
    Ok(vec![1.0 / k as f64; k])
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
