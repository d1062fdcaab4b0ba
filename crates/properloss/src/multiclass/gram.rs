//! `G = Σ_i h_i x_i x_i'` of the standardised rows, from panels.

use rayon::prelude::*;

use super::math::Eight;
use super::panel::{PANEL, Panel, STRIP};
use super::rows::Rows;
use crate::design::{Lanes, kernel};

/// Panels that are added together: their rows stay in the second cache.
const TOGETHER: usize = 4;
/// At most this many partial sums ...
const MAX_CHUNKS: usize = 16;
/// ... and not more numbers than this in all (64 MB).
const MAX_PARTIAL: usize = 1 << 23;

/// `G`, row-major, both triangles. The sums run in an order that depends on the shape alone.
pub(super) fn gram(rows: &Rows<'_>, h: &[f64]) -> Vec<f64> {
    let d = rows.dimension();
    let strips = d.div_ceil(STRIP);
    let width = strips * STRIP;
    let most = (MAX_PARTIAL / (width * width)).clamp(1, MAX_CHUNKS);
    let group = TOGETHER * PANEL;
    let chunk = h.len().div_ceil(most).next_multiple_of(group).max(group);
    let parts: Vec<Vec<Eight>> = h
        .par_chunks(chunk)
        .enumerate()
        .map(|(number, h)| {
            let mut sums = vec![[0.0; 8]; width * width / 8];
            let mut block = vec![[[0.0; 8]; 2]; strips * group];
            let mut scaled = block.clone();
            let mut own = Panel::default();
            for (k, h) in h.chunks(group).enumerate() {
                let start = number * chunk + k * group;
                for (p, h) in h.chunks(PANEL).enumerate() {
                    let panel = rows.panel(start + p * PANEL, &mut own);
                    for (s, from) in panel.by_row.chunks_exact(PANEL).enumerate() {
                        let at = s * group + p * PANEL;
                        block[at..at + PANEL].copy_from_slice(from);
                        for (i, from) in from.iter().enumerate() {
                            let h = h.get(i).copied().unwrap_or(0.0);
                            scaled[at + i] = from.map(|x| x.map(|x| h * x));
                        }
                    }
                }
                add_gram(&block, &scaled, group, h.len().next_multiple_of(PANEL), &mut sums);
            }
            sums
        })
        .collect();
    let mut parts = parts.into_iter();
    let mut sums = parts.next().unwrap_or_default();
    for part in parts {
        let (sums, part) = (sums.as_flattened_mut(), part.as_flattened());
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    let sums = sums.as_flattened();
    let mut gram = vec![0.0; d * d];
    for a in 0..d {
        for b in a..d {
            gram[a * d + b] = sums[a * width + b];
            gram[b * d + a] = sums[a * width + b];
        }
    }
    gram
}

kernel! {
    /// Adds `block' scaled` to the upper triangle of `sums`, in tiles of 8 × 16 (4 × 16 where registers are few)
    /// over the first `count` rows of `group`. Tiles that touch the diagonal are computed whole.
    fn add_gram<'k>(
        lanes: L,
        block: &'k [[Eight; 2]],
        scaled: &'k [[Eight; 2]],
        group: usize,
        count: usize,
        sums: &'k mut [Eight],
    ) -> () {
        let width = block.len() / group * 2;
        for (a, left) in block.chunks_exact(group).enumerate() {
            for (b, right) in scaled.chunks_exact(group).enumerate().skip(a) {
                for half in 0..2 {
                    let sums = &mut sums[(16 * a + 8 * half) * width + 2 * b..];
                    let (left, right) = (&left[..count], &right[..count]);
                    if L::MANY_REGISTERS {
                        tile::<L, 8>(lanes, left, half, 0, right, sums, width);
                    } else {
                        tile::<L, 4>(lanes, left, half, 0, right, sums, width);
                        tile::<L, 4>(lanes, left, half, 4, right, &mut sums[4 * width..], width);
                    }
                }
            }
        }
    }
}

/// `A` columns from `first` on in half a strip, times a strip.
#[inline(always)]
fn tile<L: Lanes, const A: usize>(
    lanes: L,
    left: &[[Eight; 2]],
    half: usize,
    first: usize,
    right: &[[Eight; 2]],
    sums: &mut [Eight],
    stride: usize,
) {
    let mut tile = [[lanes.splat(0.0); 2]; A];
    for (left, right) in left.iter().zip(right) {
        let right = [lanes.load(&right[0]), lanes.load(&right[1])];
        for a in 0..A {
            let x = lanes.splat(left[half][first + a]);
            for v in 0..2 {
                tile[a][v] = lanes.fused(tile[a][v], x, right[v]);
            }
        }
    }
    for a in 0..A {
        for v in 0..2 {
            let sum = &mut sums[a * stride + v];
            *sum = lanes.array(lanes.add(lanes.load(sum), tile[a][v]));
        }
    }
}
