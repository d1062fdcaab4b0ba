//! Groups: rows that belong together, such as the loans of one customer, and splits that keep them so.

use std::collections::HashMap;

use crate::encoder::{Encoded, Encoder, cell_text};
use crate::error::{Error, Result};
use crate::options::{LabelUse, ReadOptions, UnknownCategory};
use crate::random::Random;
use crate::read::{Format, open_table};
use crate::source::Source;
use crate::split::Split;
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

/// The fold of every row, as cross-validation takes it: see [`grouped_folds`].
pub fn fold_of_row(labels: &[u8], groups: &[u32], k: usize, seed: u64) -> Result<Vec<u32>> {
    let fold = deal_groups(labels, groups, &vec![1.0 / k as f64; k], seed)?;
    Ok(fold.into_iter().map(|fold| fold as u32).collect())
}

/// `k` splits as [`crate::split::folds`], but rows of one group are never apart: `groups[i]` is row `i`'s.
pub fn grouped_folds(labels: &[u8], groups: &[u32], k: usize, seed: u64) -> Result<Vec<Split>> {
    if k < 2 {
        return Err(Error::BadOption {
            what: "the number of folds",
            value: k.to_string(),
            expected: "2 or more".into(),
        });
    }
    let fold = deal_groups(labels, groups, &vec![1.0 / k as f64; k], seed)?;
    let split = |j: usize| {
        let (test, train) = (0..labels.len()).partition(|&row| fold[row] == j);
        Split { train, test }
    };
    Ok((0..k).map(split).collect())
}

/// A share `test_share` of each class to the test part as [`crate::split::train_test`] does, as nearly as whole
/// groups allow.
pub fn grouped_train_test(
    labels: &[u8],
    groups: &[u32],
    test_share: f64,
    seed: u64,
) -> Result<Split> {
    if !(test_share > 0.0 && test_share < 1.0) {
        return Err(Error::BadOption {
            what: "the share of the test part",
            value: test_share.to_string(),
            expected: "above 0 and below 1".into(),
        });
    }
    let part = deal_groups(labels, groups, &[1.0 - test_share, test_share], seed)?;
    let (test, train) = (0..labels.len()).partition(|&row| part[row] == 1);
    Ok(Split { train, test })
}

/// The part of every row: the largest group first, each to the part where it brings the shares of
/// both classes nearest to `targets`, groups of equal size in the order of `seed`.
///
/// With the share `s_kc` of class `c` in part `k`, a group goes where `Σ_c s_kc² / target_k` grows
/// least.
fn deal_groups(labels: &[u8], groups: &[u32], targets: &[f64], seed: u64) -> Result<Vec<usize>> {
    let count = groups.iter().max().map_or(0, |&last| last as usize + 1);
    let mut total = [0.0f64; 2];
    let mut of_group = vec![[0.0f64; 2]; count];
    for (&label, &group) in labels.iter().zip(groups) {
        let class = usize::from(label != 0);
        total[class] += 1.0;
        of_group[group as usize][class] += 1.0;
    }
    let present = of_group.iter().filter(|part| part[0] + part[1] > 0.0).count();
    if present < targets.len() {
        return Err(Error::TooFewGroups { found: present, needed: targets.len() });
    }
    let mut order: Vec<usize> = (0..count).collect();
    Random::stream(seed, 2).shuffle(&mut order);
    order.sort_by(|&a, &b| {
        (of_group[b][0] + of_group[b][1]).total_cmp(&(of_group[a][0] + of_group[a][1]))
    });
    let mut share = vec![[0.0f64; 2]; targets.len()];
    let mut part_of = vec![0; count];
    for group in order {
        let part = [0, 1].map(|c| of_group[group][c] / total[c].max(1.0));
        let growth = |k: usize| -> f64 {
            let square = |c: usize| (share[k][c] + part[c]).powi(2) - share[k][c].powi(2);
            (square(0) + square(1)) / targets[k]
        };
        let best =
            (1..targets.len()).fold(0, |best, k| if growth(k) < growth(best) { k } else { best });
        share[best][0] += part[0];
        share[best][1] += part[1];
        part_of[group] = best;
    }
    for class in 0..2usize {
        let found = share.iter().filter(|share| share[class] > 0.0).count();
        if found < targets.len() {
            let (class, needed) = (class.to_string(), targets.len());
            return Err(Error::ClassInFewGroups { class, found, needed });
        }
    }
    Ok(groups.iter().map(|&group| part_of[group as usize]).collect())
}
