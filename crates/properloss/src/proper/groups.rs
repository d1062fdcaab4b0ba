//! Whole groups dealt to parts: one rule for folds and test parts, for two classes and for more.

use std::collections::HashMap;

use super::folds::Random;
use crate::error::{Error, Result, same_length};

/// The part of every row, such that rows of one group are never apart: `groups[i]` is row `i`'s, by any number.
///
/// The largest group comes first, each goes to the part where it brings the shares of the classes nearest
/// to `shares`, groups of equal size in the order of `seed`. With the share `s_kc` of class `c` in
/// part `k` and `g_c` in the group, that is the part where
///
/// ```text
/// sum_c ((s_kc + g_c)^2 - s_kc^2) / shares_k = sum_c g_c (g_c + 2 s_kc) / shares_k
/// ```
///
/// is least; of equal ones the part with the fewest rows for its share, then the first. Groups are known by the
/// row where they first appear, so what they are called changes nothing.
pub fn deal_groups(labels: &[u32], groups: &[u32], shares: &[f64], seed: u64) -> Result<Vec<u32>> {
    same_length(("groups", groups.len()), ("labels", labels.len()))?;
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut total = vec![0.0f64; classes];
    let mut number: HashMap<u32, usize> = HashMap::new();
    let mut labels_of: Vec<Vec<u32>> = Vec::new();
    for (&label, &group) in labels.iter().zip(groups) {
        let at = *number.entry(group).or_insert(labels_of.len());
        if at == labels_of.len() {
            labels_of.push(Vec::new());
        }
        labels_of[at].push(label);
        total[label as usize] += 1.0;
    }
    let found = labels_of.len();
    if found < shares.len() {
        return Err(Error::TooShort { what: "groups", length: found, minimum: shares.len() });
    }
    let mut order: Vec<usize> = (0..found).collect();
    Random(seed).shuffle(&mut order);
    order.sort_by_key(|&at| std::cmp::Reverse(labels_of[at].len()));
    let mut share = vec![vec![0.0f64; classes]; shares.len()];
    let mut filled = vec![0usize; shares.len()];
    let mut part_of = vec![0u32; found];
    for at in order {
        let own = &mut labels_of[at];
        own.sort_unstable();
        let own: Vec<(usize, f64)> = own
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0] as usize, same.len() as f64 / total[same[0] as usize]))
            .collect();
        let growth = |k: usize| {
            let grown: f64 = own.iter().map(|&(c, g)| g * (g + 2.0 * share[k][c])).sum();
            (grown / shares[k], filled[k] as f64 / shares[k])
        };
        let mut best = (0, growth(0));
        for k in 1..shares.len() {
            let other = growth(k);
            if other < best.1 {
                best = (k, other);
            }
        }
        let best = best.0;
        own.iter().for_each(|&(c, g)| share[best][c] += g);
        filled[best] += labels_of[at].len();
        part_of[at] = best as u32;
    }
    Ok(groups.iter().map(|group| part_of[number[group]]).collect())
}

/// [`deal_groups`] to `count` equal parts, of the rows in `kept` alone; the others get `left_out`.
pub(crate) fn grouped_folds(
    label: impl Fn(usize) -> u32,
    groups: &[u32],
    kept: &[usize],
    count: usize,
    seed: u64,
    left_out: u32,
) -> Result<Vec<u32>> {
    let labels: Vec<u32> = kept.iter().map(|&i| label(i)).collect();
    let own: Vec<u32> = kept.iter().map(|&i| groups[i]).collect();
    let dealt = deal_groups(&labels, &own, &vec![1.0 / count as f64; count], seed)?;
    let mut of_row = vec![left_out; groups.len()];
    kept.iter().zip(dealt).for_each(|(&i, fold)| of_row[i] = fold);
    Ok(of_row)
}
