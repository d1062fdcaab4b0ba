//! The virtual design against the matrix it stands for, formed in full.

mod congruence;

use congruence::{copied, numbers};
use properloss::design::{Design, FittedScaling, Intercept, Scaling};
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};
use proptest::prelude::*;

const SCALINGS: [Scaling; 4] =
    [Scaling::None, Scaling::UnitRows, Scaling::MaxNorm, Scaling::Standardise];

/// One set of values in the three storages; sparse rows keep about a third of them.
struct Data {
    rows: usize,
    columns: usize,
    f32s: Vec<f32>,
    f64s: Vec<f64>,
    offsets: Vec<i64>,
    indices: Vec<u32>,
    stored: Vec<f32>,
    labels: Vec<u8>,
}

impl Data {
    fn new(rows: usize, columns: usize, sparse: bool, seed: u64) -> Self {
        let mut f32s: Vec<f32> = numbers(rows * columns, seed).iter().map(|&x| x as f32).collect();
        if sparse {
            f32s.iter_mut().filter(|x| **x < 0.33).for_each(|x| *x = 0.0);
        }
        let (mut offsets, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
        for row in f32s.chunks(columns) {
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                indices.push(j as u32);
                stored.push(x);
            }
            offsets.push(indices.len() as i64);
        }
        let f64s = f32s.iter().map(|&x| f64::from(x)).collect();
        let labels = (0..rows).map(|i| (i % 2) as u8).collect();
        Self { rows, columns, f32s, f64s, offsets, indices, stored, labels }
    }

    fn matrices(&self) -> [Matrix<'_>; 3] {
        [
            Matrix::dense_f32(&self.f32s, self.rows, self.columns).unwrap(),
            Matrix::dense_f64(&self.f64s, self.rows, self.columns).unwrap(),
            Matrix::csr(
                Offsets::I64(&self.offsets),
                Indices::U32(&self.indices),
                Values::F32(&self.stored),
                self.columns,
            )
            .unwrap(),
        ]
    }

    /// The design rows by their definition, from the dense values alone.
    fn in_full(&self, scaling: Scaling, weights: &[f64], intercept: bool) -> Vec<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = self.f64s.chunks(self.columns).map(<[_]>::to_vec).collect();
        let norm = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        match scaling {
            Scaling::None => {}
            Scaling::UnitRows => {
                for row in &mut rows {
                    let norm = norm(row);
                    row.iter_mut().for_each(|x| *x = if norm > 0.0 { *x / norm } else { 0.0 });
                }
            }
            Scaling::MaxNorm => {
                let counted = rows.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
                let largest = counted.map(|(row, _)| norm(row)).fold(0.0, f64::max);
                rows.iter_mut().flatten().for_each(|x| *x /= largest);
            }
            Scaling::Standardise => {
                let total: f64 = weights.iter().sum();
                for j in 0..self.columns {
                    let mean = |f: &dyn Fn(f64) -> f64| {
                        rows.iter().zip(weights).map(|(row, w)| w * f(row[j])).sum::<f64>() / total
                    };
                    let centre = mean(&|x| x);
                    let deviation = mean(&|x| (x - centre).powi(2)).sqrt();
                    for row in &mut rows {
                        row[j] = (row[j] - centre) / deviation;
                    }
                }
            }
        }
        if intercept {
            rows.iter_mut().for_each(|row| row.push(1.0));
        }
        rows
    }
}

/// Every operation of every storage, scaling and shape against the rows in full.
#[test]
fn every_operation_is_that_of_the_rows_in_full() {
    let shapes = [(2, 1), (3, 5), (5, 8), (9, 17), (40, 33), (130, 3), (2000, 6), (7, 2000)];
    for (number, &(rows, columns)) in shapes.iter().enumerate() {
        for (sparse, intercept) in [(false, false), (true, true)] {
            let data = Data::new(rows, columns, sparse, number as u64);
            let mut weights: Vec<f64> = numbers(rows, 99).iter().map(|x| x + 1.5).collect();
            if rows > 3 {
                weights[1] = 0.0;
            }
            for scaling in SCALINGS {
                let x = data.in_full(scaling, &weights, intercept);
                let x = if x.iter().flatten().all(|x| x.is_finite()) { x } else { continue };
                for matrix in data.matrices() {
                    let sample = Sample::new(matrix, &data.labels, Some(&weights)).unwrap();
                    let design = Design::new(&sample, scaling, intercept.into());
                    check_products(&design, &x);
                    check_gram_and_norms(&design, &x, &weights);
                }
            }
        }
    }
}

/// `a` is the sum of the `terms`, up to rounding: at most n ε Σ|t| for n terms, and about √n ε Σ|t|
/// where the errors are independent; 100 ε Σ|t| lies above that for the n <= 2000 here.
fn is_sum(a: f64, terms: impl Iterator<Item = f64>, what: &str) {
    let (sum, size) = terms.fold((0.0, 1.0), |(sum, size), t| (sum + t, size + t.abs()));
    assert!((a - sum).abs() <= 100.0 * f64::EPSILON * size, "{what}: {a:e} {sum:e}");
}

fn check_products(design: &Design<'_>, x: &[Vec<f64>]) {
    let d = design.dimension();
    let w = numbers(d, 5);
    let r = numbers(x.len(), 6);
    let mut z = vec![f64::NAN; x.len()];
    design.scores(&w, &mut z);
    for (row, z) in x.iter().zip(&z) {
        is_sum(*z, row.iter().zip(&w).map(|(x, w)| x * w), "score");
    }
    let mut g = vec![f64::NAN; d];
    design.adjoint(&r, &mut g);
    for j in 0..d {
        is_sum(g[j], x.iter().zip(&r).map(|(row, r)| r * row[j]), "adjoint");
    }
    if !matches!(design.scaling(), FittedScaling::UnitRows) {
        let (raw, intercept) = design.original_coefficients(&w);
        for i in 0..x.len() {
            let mut terms = vec![intercept];
            design.matrix().for_each_in_row(i, |j, x| terms.push(x * raw[j]));
            is_sum(z[i], terms.into_iter(), "score from the original coefficients");
        }
    }
    // The same rows at prediction.
    let again = Design::with_fitted(
        design.matrix(),
        design.scaling().clone(),
        design.has_intercept().into(),
    );
    let mut z_again = vec![0.0; x.len()];
    again.unwrap().scores(&w, &mut z_again);
    assert_eq!(z, z_again);
}

fn check_gram_and_norms(design: &Design<'_>, x: &[Vec<f64>], weights: &[f64]) {
    let d = design.dimension();
    for (norm, row) in design.row_norms().iter().zip(x) {
        is_sum(norm * norm, row.iter().map(|x| x * x), "row norm");
    }
    let largest = design.row_norms().into_iter().zip(weights).filter(|(_, w)| **w > 0.0);
    let largest = largest.map(|(norm, _)| norm).fold(0.0, f64::max);
    assert_eq!(design.max_row_norm(Some(weights)), largest);
    if d > 50 {
        return;
    }
    let mut gram = vec![f64::NAN; d * d];
    design.weighted_gram(weights, &mut gram);
    for a in 0..d {
        for b in 0..d {
            let terms = x.iter().zip(weights).map(|(row, h)| h * row[a] * row[b]);
            is_sum(gram[a * d + b], terms, "gram");
        }
    }
    check_spectral_norm(design, &gram, weights);
}

/// The oracle: repeated squaring of the matrix, `λ_max = lim |A^(2^k)|_F^(1/2^k)`; after 12
/// squarings the factor `d^(2^-13)` is within 1e-3 of 1.
fn check_spectral_norm(design: &Design<'_>, gram: &[f64], weights: &[f64]) {
    let d = design.dimension();
    let total: f64 = weights.iter().sum();
    let mut a: Vec<f64> = gram.iter().map(|g| g / total).collect();
    let (mut log, mut power) = (0.0, 1.0);
    for _ in 0..12 {
        let norm = a.iter().map(|a| a * a).sum::<f64>().sqrt();
        log += norm.ln() / power;
        power *= 2.0;
        let previous: Vec<f64> = a.iter().map(|a| a / norm).collect();
        for i in 0..d {
            for j in 0..d {
                a[i * d + j] = (0..d).map(|k| previous[i * d + k] * previous[k * d + j]).sum();
            }
        }
    }
    let exact = log.exp();
    let norm = design.spectral_norm(Some(weights), 1e-6, 5_000);
    assert!(norm.estimate <= exact * 1.0001, "{norm:?} {exact}");
    assert!(norm.upper_bound >= exact * 0.999, "{norm:?} {exact}");
    assert!(norm.estimate >= exact * 0.99, "{norm:?} {exact}");
    let again = design.spectral_norm(Some(weights), 1e-6, 5_000);
    assert_eq!(norm, again);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pools = [pool(1), pool(2), pool(4)];
    let data = Data::new(5_000, 61, true, 3);
    let weights: Vec<f64> = numbers(5_000, 4).iter().map(|x| x + 1.0).collect();
    for matrix in data.matrices() {
        for scaling in SCALINGS {
            let results: Vec<_> = pools
                .iter()
                .map(|pool| {
                    pool.install(|| {
                        let sample = Sample::new(matrix, &data.labels, Some(&weights)).unwrap();
                        let design = Design::new(&sample, scaling, Intercept::Learned);
                        let mut z = vec![0.0; 5_000];
                        design.scores(&numbers(62, 1), &mut z);
                        let mut g = vec![0.0; 62];
                        design.adjoint(&z, &mut g);
                        let mut gram = vec![0.0; 62 * 62];
                        design.weighted_gram(&weights, &mut gram);
                        let norm = design.spectral_norm(Some(&weights), 1e-3, 20);
                        (design.scaling().clone(), z, g, gram, norm)
                    })
                })
                .collect();
            assert_eq!(results[0], results[1]);
            assert_eq!(results[0], results[2]);
        }
    }
}

#[test]
fn standardising_a_far_away_column_is_accurate_and_constant_columns_vanish() {
    // 0.1 is not a binary fraction: sums of it round, and still the column counts as constant.
    let values: Vec<f64> = (0..999)
        .flat_map(|i| [1e9 + f64::from(i % 3), 0.1, 0.0, 1e-200 * f64::from(i % 3)])
        .collect();
    let labels: Vec<u8> = (0..999).map(|i| (i % 2) as u8).collect();
    let sample = Sample::new(Matrix::dense_f64(&values, 999, 4).unwrap(), &labels, None).unwrap();
    let FittedScaling::Standardise { mean, factor } = Scaling::Standardise.fit(&sample) else {
        panic!("not standardised")
    };
    // {0, 1, 2} equally often: mean 1, variance 2/3. The mean is rounded to ulp(1e9) = 1.2e-7.
    assert!((mean[0] - (1e9 + 1.0)).abs() <= 2.4e-7);
    assert!((factor[0] - 1.5f64.sqrt()).abs() <= 1e-12);
    assert_eq!((factor[1], factor[2]), (0.0, 0.0));
    // Its squares vanish (below 1e-308), so it cannot be told from a constant: left out, not infinite.
    assert_eq!(factor[3], 0.0);
}

#[test]
fn rows_whose_squares_overflow_or_vanish_still_have_their_norm() {
    let values = [3e200, 4e200, 3e-200, 4e-200, 0.0, 0.0, 3.0, 4.0];
    let sample =
        Sample::new(Matrix::dense_f64(&values, 4, 2).unwrap(), &[0, 1, 0, 1], None).unwrap();
    let norms = Design::new(&sample, Scaling::None, Intercept::Zero).row_norms();
    for (norm, expected) in norms.iter().zip([5e200, 5e-200, 0.0, 5.0]) {
        assert!((norm - expected).abs() <= 4.0 * f64::EPSILON * expected);
    }
    let mut z = [0.0; 4];
    Design::new(&sample, Scaling::UnitRows, Intercept::Zero).scores(&[1.0, 1.0], &mut z);
    for (z, expected) in z.iter().zip([1.4, 1.4, 0.0, 1.4]) {
        assert!((z - expected).abs() <= 1e-15 * 4.0);
    }
}

#[test]
fn a_scaling_of_another_width_or_with_bad_numbers_is_refused() {
    let values = [1.0; 4];
    let matrix = Matrix::dense_f64(&values, 2, 2).unwrap();
    let bad = [
        FittedScaling::Standardise { mean: vec![0.0], factor: vec![1.0] },
        FittedScaling::Standardise { mean: vec![0.0; 2], factor: vec![1.0] },
        FittedScaling::Standardise { mean: vec![0.0, f64::NAN], factor: vec![1.0; 2] },
        FittedScaling::MaxNorm { factor: 0.0 },
        FittedScaling::MaxNorm { factor: f64::INFINITY },
    ];
    for scaling in bad {
        assert!(Design::with_fitted(matrix, scaling, Intercept::Learned).is_err());
    }
    let not_finite = Matrix::dense_f64(&[1.0, f64::NAN], 1, 2).unwrap();
    assert!(Design::with_fitted(not_finite, FittedScaling::None, Intercept::Learned).is_err());
    let empty = Matrix::dense_f64(&[], 0, 2).unwrap();
    let design = Design::with_fitted(empty, FittedScaling::UnitRows, Intercept::Learned).unwrap();
    design.scores(&[0.0; 3], &mut []);
    let mut g = [1.0; 3];
    design.adjoint(&[], &mut g);
    assert_eq!(g, [0.0; 3], "no rows add up to zero");
}

proptest! {
    /// Weight 2 is a duplicate, weight 0 a removal, and the order of the rows does not matter:
    /// in the scaling and in the two products. Sums of at most 80 terms of order 1, divided by
    /// deviations of at least 0.1 in practice: 1e-11 is far above rounding.
    #[test]
    fn weights_are_counts(
        seed in 0u64..1000,
        rows in 4usize..40,
        columns in 1usize..20,
        counts in prop::collection::vec(0usize..3, 40),
    ) {
        let mut counts = counts[..rows].to_vec();
        (counts[0], counts[1], counts[2]) = (1, 1, 2);
        let data = Data::new(rows, columns, false, seed);
        let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
        let (copies, mut labels) = copied(&data.f32s, &data.labels, &counts);
        // The last row first.
        let copies: Vec<f32> = copies.chunks_exact(columns).rev().flatten().copied().collect();
        labels.reverse();
        let weighted = Sample::new(data.matrices()[0], &data.labels, Some(&weights)).unwrap();
        let copied = Matrix::dense_f32(&copies, labels.len(), columns).unwrap();
        let copied = Sample::new(copied, &labels, None).unwrap();
        for scaling in SCALINGS {
            let a = Design::new(&weighted, scaling, Intercept::Learned);
            let b = Design::new(&copied, scaling, Intercept::Learned);
            let mut g_a = vec![0.0; columns + 1];
            let mut g_b = vec![0.0; columns + 1];
            a.adjoint(&weights, &mut g_a);
            b.adjoint(&vec![1.0; labels.len()], &mut g_b);
            for (a, b) in g_a.iter().zip(&g_b) {
                prop_assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()), "{a} {b}");
            }
            let x_a = a.max_row_norm(Some(&weights));
            let x_b = b.max_row_norm(None);
            prop_assert!((x_a - x_b).abs() <= 1e-11 * x_a);
        }
    }
}
