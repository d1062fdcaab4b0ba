//! A sort of scores by two distributions and an insertion: about twice as fast as a comparison sort
//! on scores that fill their range, and never much slower (a crowded bucket is sorted by comparison).

/// Rows of a coarse bucket on average: their keys fit the first-level cache.
const COARSE_ROWS: usize = 1024;
const MAX_COARSE: usize = 4096;
/// Rows that one thread sorts at a time.
const PART: usize = 16_384;
/// A fine bucket with more rows than this is sorted by comparison.
const CROWDED: u32 = 12;

type Key = (f64, u32);

/// Writes the scores `z` (finite) in increasing order, and their rows.
pub(super) fn sort_rows(z: &[f64], scores: &mut Vec<f64>, order: &mut Vec<u32>) {
    let m = z.len();
    scores.clear();
    scores.resize(m, 0.0);
    order.clear();
    order.resize(m, 0);
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
        (scores[*place as usize], order[*place as usize]) = (z, row as u32);
        *place += 1;
    }
    sort_buckets(scores, order, 0, &ends[..buckets]);
}

/// Sorts each bucket, the buckets in halves on several threads; the first one starts at `start`.
fn sort_buckets(scores: &mut [f64], order: &mut [u32], start: usize, ends: &[u32]) {
    if scores.len() > PART && ends.len() > 1 {
        let (left, right) = ends.split_at(ends.len() / 2);
        let border = left[left.len() - 1] as usize;
        let (left_scores, right_scores) = scores.split_at_mut(border - start);
        let (left_order, right_order) = order.split_at_mut(border - start);
        rayon::join(
            || sort_buckets(left_scores, left_order, start, left),
            || sort_buckets(right_scores, right_order, border, right),
        );
        return;
    }
    let mut buffers = Buffers::default();
    let mut from = 0;
    for &end in ends {
        let range = from..end as usize - start;
        from = range.end;
        buffers.sort(&mut scores[range.clone()], &mut order[range]);
    }
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

/// Room for one bucket.
#[derive(Default)]
struct Buffers {
    counts: Vec<u32>,
    keys: Vec<Key>,
}

impl Buffers {
    fn sort(&mut self, scores: &mut [f64], order: &mut [u32]) {
        if !self.distribute(scores, order) {
            self.keys.clear();
            self.keys.extend(scores.iter().copied().zip(order.iter().copied()));
            self.keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        for (i, &(z, row)) in self.keys.iter().enumerate() {
            (scores[i], order[i]) = (z, row);
        }
    }

    /// Distributes a bucket over as many fine buckets as it has rows, then inserts. Declines a
    /// bucket that is too small, too large or crowded in one place.
    fn distribute(&mut self, scores: &[f64], order: &[u32]) -> bool {
        let n = scores.len();
        if !(32..=64 * COARSE_ROWS).contains(&n) {
            return false;
        }
        let Self { counts, keys } = self;
        let grid = Grid::over(scores.iter().copied(), n);
        counts.clear();
        counts.resize(n + 1, 0);
        let mut fullest = 0;
        for &z in scores {
            let count = &mut counts[grid.bucket(z) + 1];
            *count += 1;
            fullest = fullest.max(*count);
        }
        if fullest > CROWDED {
            return false;
        }
        let mut total = 0;
        for count in counts.iter_mut() {
            total += *count;
            *count = total;
        }
        keys.resize(n, (0.0, 0));
        for (&z, &row) in scores.iter().zip(order) {
            let place = &mut counts[grid.bucket(z)];
            keys[*place as usize] = (z, row);
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
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(n: usize) -> Vec<f64> {
        // Every value once, in no order: 7919 is prime and divides no n used here.
        (0..n).map(|i| ((i * 7919) % n) as f64 / n as f64).collect()
    }

    /// Which buckets are distributed: not the small, the large and the crowded.
    #[test]
    fn buckets_that_fit_are_distributed() {
        let mut buffers = Buffers::default();
        for (n, taken) in [(31, false), (32, true), (1000, true), (65_536, true), (65_537, false)] {
            let scores = spread(n);
            let order: Vec<u32> = (0..n as u32).collect();
            assert_eq!(buffers.distribute(&scores, &order), taken, "{n}");
            if taken {
                let sorted = (0..n).map(|i| i as f64 / n as f64);
                assert!(buffers.keys.iter().map(|key| key.0).eq(sorted), "{n}");
                assert!(buffers.keys.iter().all(|&(z, row)| scores[row as usize] == z));
            }
        }
        let crowded = |ties: usize| -> Vec<f64> {
            (0..100).map(|i| if i < ties { 0.0 } else { i as f64 }).collect()
        };
        let order: Vec<u32> = (0..100).collect();
        assert!(buffers.distribute(&crowded(12), &order));
        assert!(!buffers.distribute(&crowded(14), &order));
    }

    /// Increasing, each with its row, every row once.
    #[test]
    fn sorted_with_their_rows() {
        for m in [1, 2, 31, 100, 5_000, 40_000] {
            let z: Vec<f64> = spread(m).iter().map(|z| (z * 300.0).floor()).collect();
            let (mut scores, mut order) = (Vec::new(), Vec::new());
            sort_rows(&z, &mut scores, &mut order);
            assert!(scores.is_sorted() && scores.len() == m, "{m}");
            assert!(scores.iter().zip(&order).all(|(&s, &row)| s == z[row as usize]), "{m}");
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..m as u32), "{m}");
        }
    }

    #[test]
    fn buckets_are_equal_intervals() {
        let grid = Grid::over([3.0, 1.0, 5.0].into_iter(), 8);
        assert_eq!([1.0, 1.49, 1.5, 3.0, 4.9, 5.0].map(|z| grid.bucket(z)), [0, 0, 1, 4, 7, 7]);
        let flat = Grid::over([2.0, 2.0].into_iter(), 8);
        assert_eq!(flat.bucket(2.0), 0);
    }
}
