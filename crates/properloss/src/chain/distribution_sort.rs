//! A sort of scores by two distributions and an insertion: about twice as fast as a comparison sort
//! on scores that fill their range, and never much slower (a crowded bucket is sorted by comparison).

/// Rows of a coarse bucket on average: their keys fit the first-level cache.
const COARSE_ROWS: usize = 1024;
const MAX_COARSE: usize = 4096;
/// A fine bucket with more rows than this is sorted by comparison.
const CROWDED: u32 = 12;

type Key = (f64, u32);

/// The rows with their scores, in increasing order of `z`, which is finite.
pub(super) fn sorted_rows(z: &[f64]) -> Vec<Key> {
    let m = z.len();
    let mut keys = vec![(0.0, 0u32); m];
    let buckets = (m / COARSE_ROWS).clamp(1, MAX_COARSE);
    let grid = Grid::over(z.iter().copied(), buckets);
    let mut ends = vec![0u32; buckets + 1];
    z.iter().for_each(|&z| ends[grid.bucket(z) + 1] += 1);
    for b in 0..buckets {
        ends[b + 1] += ends[b];
    }
    // Each bucket's entry moves from its start to its end.
    for (row, &z) in z.iter().enumerate() {
        let place = &mut ends[grid.bucket(z)];
        keys[*place as usize] = (z, row as u32);
        *place += 1;
    }
    let (mut counts, mut buffer) = (Vec::new(), Vec::new());
    let mut start = 0;
    for &end in &ends[..buckets] {
        sort_bucket(&mut keys[start..end as usize], &mut counts, &mut buffer);
        start = end as usize;
    }
    keys
}

/// Equal intervals over a range of scores.
#[derive(Clone, Copy)]
struct Grid {
    low: f64,
    scale: f64,
    last: usize,
}

impl Grid {
    fn over(z: impl Iterator<Item = f64>, buckets: usize) -> Self {
        let (low, high) =
            z.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), z| (a.min(z), b.max(z)));
        Self { low, scale: buckets as f64 / (high - low), last: buckets - 1 }
    }

    /// Nondecreasing in `z`, also where the range is 0 or overflows (NaN is bucket 0).
    #[inline]
    fn bucket(self, z: f64) -> usize {
        (((z - self.low) * self.scale) as usize).min(self.last)
    }
}

/// Distributes a bucket over as many fine buckets as it has rows, then inserts.
fn sort_bucket(keys: &mut [Key], counts: &mut Vec<u32>, buffer: &mut Vec<Key>) {
    let n = keys.len();
    if !(32..=64 * COARSE_ROWS).contains(&n) {
        keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        return;
    }
    let grid = Grid::over(keys.iter().map(|k| k.0), n);
    counts.clear();
    counts.resize(n + 1, 0);
    buffer.clear();
    buffer.extend_from_slice(keys);
    let mut crowded = false;
    for key in buffer.iter() {
        let count = &mut counts[grid.bucket(key.0) + 1];
        *count += 1;
        crowded |= *count > CROWDED;
    }
    if crowded {
        keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        return;
    }
    let mut total = 0;
    for count in counts.iter_mut() {
        total += *count;
        *count = total;
    }
    for &key in buffer.iter() {
        let place = &mut counts[grid.bucket(key.0)];
        keys[*place as usize] = key;
        *place += 1;
    }
    for i in 1..n {
        let key = keys[i];
        let mut j = i;
        while j > 0 && keys[j - 1].0 > key.0 {
            keys[j] = keys[j - 1];
            j -= 1;
        }
        keys[j] = key;
    }
}
