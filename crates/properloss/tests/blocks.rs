//! Rows in blocks: one block has the bits of the rows in memory; several differ by roundings; edges
//! of blocks, and nothing else, fix the bits.

mod congruence;

use congruence::Congruence;
use properloss::Error;
use properloss::link::LinkSpec;
use properloss::proper::{Folds, ProperFit, ProperLoss};
use properloss::rows::{
    Block, BlockAnswer, BlockFacts, BlockQuestion, Blocks, InBlocks, Local, Rows, Stop, Take,
};
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};
use properloss::train::{Fit, Settings, Silent, Value, registry};

/// Rows whose true link is not the sigmoid, so that the weights are fitted again under it.
#[derive(Clone)]
struct Data {
    x: Vec<f64>,
    y: Vec<u8>,
    weights: Vec<f64>,
    columns: usize,
}

impl Data {
    fn new(rows: usize, columns: usize) -> Self {
        let mut random = Congruence(rows as u64 * 7 + columns as u64);
        let w: Vec<f64> = (0..columns).map(|_| random.normal() / (columns as f64).sqrt()).collect();
        let (mut x, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let row: Vec<f64> = (0..columns).map(|_| random.normal() * 1.5).collect();
            let z: f64 = row.iter().zip(&w).map(|(a, b)| a * b).sum();
            y.push(u8::from(random.uniform() < 0.05 + 0.9 / (1.0 + (-3.0 * z).exp())));
            // Values that f32 has too.
            x.extend(row.iter().map(|x| f64::from(*x as f32)));
            weights.push((3.0 * random.uniform()).floor());
        }
        Self { x, y, weights, columns }
    }

    fn rows(&self) -> usize {
        self.y.len()
    }

    fn narrow(&self) -> Vec<f32> {
        self.x.iter().map(|x| *x as f32).collect()
    }
}

/// Blocks in memory: starts of the blocks, and the rows in one of three storages.
struct InMemory<'a> {
    data: &'a Data,
    kind: Kind,
    weighted: bool,
    starts: Vec<usize>,
    facts: Vec<BlockFacts>,
    /// The last block answers first.
    backwards: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    F32,
    F64,
    Sparse,
}

impl<'a> InMemory<'a> {
    fn new(data: &'a Data, kind: Kind, weighted: bool, starts: &[usize]) -> Self {
        let starts = [starts, &[data.rows()]].concat();
        let facts = Vec::new();
        let mut blocks = Self { data, kind, weighted, starts, facts, backwards: false };
        blocks.facts = (0..blocks.starts.len() - 1)
            .map(|number| blocks.with(number, |block| block.facts()))
            .collect();
        blocks
    }

    fn with<R>(&self, number: usize, work: impl FnOnce(Block<'_>) -> R) -> R {
        let (from, to) = (self.starts[number], self.starts[number + 1]);
        let (data, columns) = (self.data, self.data.columns);
        let x = &data.x[from * columns..to * columns];
        let weights = self.weighted.then_some(&data.weights[from..to]);
        let block = |matrix| work(Block::new(matrix, &data.y[from..to], weights).unwrap());
        let rows = to - from;
        match self.kind {
            Kind::F64 => block(Matrix::dense_f64(x, rows, columns).unwrap()),
            Kind::F32 => {
                let x: Vec<f32> = x.iter().map(|x| *x as f32).collect();
                block(Matrix::dense_f32(&x, rows, columns).unwrap())
            }
            Kind::Sparse => {
                let (offsets, indices, values) = sparse(x, columns);
                block(csr(&offsets, &indices, &values, columns))
            }
        }
    }
}

/// The values above 0.
fn sparse(x: &[f64], columns: usize) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.chunks(columns) {
        for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            indices.push(j as u32);
            values.push(value);
        }
        offsets.push(values.len());
    }
    (offsets, indices, values)
}

fn csr<'a>(offsets: &'a [usize], indices: &'a [u32], values: &'a [f64], d: usize) -> Matrix<'a> {
    let offsets = Offsets::Usize(offsets);
    Matrix::csr(offsets, Indices::U32(indices), Values::F64(values), d).unwrap()
}

impl Blocks for InMemory<'_> {
    fn facts(&self) -> &[BlockFacts] {
        &self.facts
    }

    fn ask(&self, question: &BlockQuestion, stop: Stop, take: Take) -> properloss::Result<()> {
        let answer = |k: usize| self.with(k, |block| block.answer(question, k, stop));
        let count = self.facts.len();
        let mut answers: Vec<(usize, BlockAnswer)> = Vec::new();
        for step in 0..count {
            let number = if self.backwards { count - 1 - step } else { step };
            answers.push((number, answer(number)?));
        }
        answers.sort_by_key(|(number, _)| *number);
        answers.into_iter().try_for_each(|(_, answer)| take(answer))
    }
}

fn never() -> bool {
    false
}

fn local(options: &ProperLoss, data: &Data, kind: Kind, weighted: bool) -> ProperFit {
    let weights = weighted.then_some(&data.weights[..]);
    let (rows, columns) = (data.rows(), data.columns);
    let fit = |matrix| options.fit(&Sample::new(matrix, &data.y, weights).unwrap()).unwrap();
    match kind {
        Kind::F64 => fit(Matrix::dense_f64(&data.x, rows, columns).unwrap()),
        Kind::F32 => fit(Matrix::dense_f32(&data.narrow(), rows, columns).unwrap()),
        Kind::Sparse => {
            let (offsets, indices, values) = sparse(&data.x, columns);
            fit(csr(&offsets, &indices, &values, columns))
        }
    }
}

/// Everything that makes predictions, in bits.
fn bits(fit: &ProperFit) -> Vec<u64> {
    let (x, y) = (fit.link.v().x(), fit.link.v().y());
    let numbers = fit.model.coefficients().iter().chain([&fit.c, &fit.refit_share]);
    numbers
        .chain(x)
        .chain(y)
        .chain(&fit.held_out_log_loss)
        .chain(fit.path.iter().map(|point| &point.score))
        .map(|x| x.to_bits())
        .chain([fit.model.intercept().to_bits(), fit.passes as u64])
        .collect()
}

#[test]
fn one_block_has_the_bits_of_the_rows_in_memory() {
    // Quadratic models, their samples of the rows, and descents without Hessians.
    for (rows, columns) in [(900, 6), (40_000, 7), (300, 80)] {
        let data = Data::new(rows, columns);
        let options = ProperLoss::default().with_class_weight([1.0, 2.0]);
        for (kind, weighted) in [(Kind::F32, false), (Kind::F64, true), (Kind::Sparse, true)] {
            let blocks = InMemory::new(&data, kind, weighted, &[0]);
            let streamed = options.fit_blocks(&blocks, &never).unwrap();
            let local = local(&options, &data, kind, weighted);
            assert_eq!(bits(&streamed), bits(&local), "{rows} x {columns}");
            assert!(streamed.held_out_scores.is_empty() && streamed.folds.is_empty());
        }
    }
}

#[test]
fn several_blocks_differ_by_roundings() {
    let data = Data::new(20_000, 5);
    let options = ProperLoss::default();
    let whole = local(&options, &data, Kind::F32, false);
    assert!(whole.refit_share > 0.0, "the case is to have a second fit");
    // An empty block, a block of one row, uneven ones.
    let blocks = InMemory::new(&data, Kind::F32, false, &[0, 7000, 7000, 7001, 19_000]);
    let parts = options.fit_blocks(&blocks, &never).unwrap();
    let matrix = Matrix::dense_f64(&data.x, data.rows(), data.columns).unwrap();
    let (p, q) = (whole.probabilities(&matrix).unwrap(), parts.probabilities(&matrix).unwrap());
    let far = p.iter().zip(&q).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
    // Sums in another order differ by some 1e-16 of their size; minimisations end within 1e-4 nats.
    assert!(far < 1e-6, "{far:e}");
    for k in 0..3 {
        assert!((whole.held_out_log_loss[k] - parts.held_out_log_loss[k]).abs() < 1e-8);
    }
    // All rows are in the sample here, so the certificate is that of all rows.
    let (a, b) = (whole.calibration_bound.unwrap(), parts.calibration_bound.unwrap());
    assert_eq!(a.rows, b.rows);
    assert!((a.rms - b.rms).abs() < 1e-5, "{} {}", a.rms, b.rms);
}

#[test]
fn who_answers_first_changes_no_bit() {
    let data = Data::new(3000, 4);
    let mut blocks = InMemory::new(&data, Kind::F64, true, &[0, 1000, 1500, 2900]);
    let options = ProperLoss::default().with_folds(Folds::Stratified { count: 9, seed: 5 });
    let forwards = options.fit_blocks(&blocks, &never).unwrap();
    blocks.backwards = true;
    let backwards = options.fit_blocks(&blocks, &never).unwrap();
    assert_eq!(bits(&forwards), bits(&backwards));
}

#[test]
fn a_block_may_have_one_class_only() {
    let mut data = Data::new(2000, 3);
    data.weights.fill(1.0);
    let mut order: Vec<usize> = (0..2000).collect();
    order.sort_by_key(|&i| data.y[i]);
    let sorted = Data {
        x: order.iter().flat_map(|&i| data.x[3 * i..3 * i + 3].to_vec()).collect(),
        y: order.iter().map(|&i| data.y[i]).collect(),
        ..data.clone()
    };
    let negatives = sorted.y.iter().filter(|&&y| y == 0).count();
    let options = ProperLoss::default();
    let blocks = InMemory::new(&sorted, Kind::F64, false, &[0, negatives]);
    let parts = options.fit_blocks(&blocks, &never).unwrap();
    let whole = local(&options, &sorted, Kind::F64, false);
    assert!((whole.held_out_log_loss[2] - parts.held_out_log_loss[2]).abs() < 1e-8);
}

#[test]
fn what_blocks_cannot_do_is_said() {
    let data = Data::new(100, 2);
    let blocks = InMemory::new(&data, Kind::F64, false, &[0, 50]);
    let folds = Folds::Given((0..100).map(|i| i % 5).collect());
    let given = ProperLoss::default().with_folds(folds);
    let error = given.fit_blocks(&blocks, &never).unwrap_err();
    assert!(error.to_string().contains("needs all rows in memory"), "{error}");
    let stopped = ProperLoss::default().fit_blocks(&blocks, &|| true).unwrap_err();
    assert_eq!(stopped, Error::Interrupted);

    let mut wrong = InMemory::new(&data, Kind::F64, false, &[0, 50]);
    wrong.facts[1].columns = 3;
    let error = ProperLoss::default().fit_blocks(&wrong, &never).unwrap_err();
    assert_eq!(error.to_string(), "block 1 has 3 column(s), but those before it have 2");

    let ones = Data { y: vec![1; 100], ..data.clone() };
    let blocks = InMemory::new(&ones, Kind::F64, false, &[0, 50]);
    let error = ProperLoss::default().fit_blocks(&blocks, &never).unwrap_err();
    assert_eq!(error, Error::OneClass { label: 1 });
    let bad = [0.0, f64::NAN];
    let matrix = Matrix::dense_f64(&bad, 2, 1).unwrap();
    assert!(matches!(Block::new(matrix, &[0, 1], None), Err(Error::NotFiniteCell { row: 1, .. })));
}

/// A method of the registry on blocks and on the same rows in memory.
fn both(name: &str, given: &Settings, blocks: &InMemory<'_>) -> ((Fit, usize), Fit) {
    let method = registry::method(name).unwrap();
    let mut parts = InBlocks::new(blocks, &never).unwrap();
    let (estimator, _) = method.build(given, &parts.shape()).unwrap();
    let fit = estimator.run(&mut parts, None, &mut Silent).unwrap();
    let data = blocks.data;
    let weights = blocks.weighted.then_some(&data.weights[..]);
    let on = |matrix| {
        let sample = Sample::new(matrix, &data.y, weights).unwrap();
        estimator.run(&mut Local::new(&sample), None, &mut Silent).unwrap()
    };
    let whole = match blocks.kind {
        Kind::Sparse => {
            let (offsets, indices, values) = sparse(&data.x, data.columns);
            on(csr(&offsets, &indices, &values, data.columns))
        }
        _ => on(Matrix::dense_f64(&data.x, data.rows(), data.columns).unwrap()),
    };
    ((fit, parts.rounds()), whole)
}

fn furthest(a: &Fit, b: &Fit, data: &Data) -> f64 {
    let matrix = Matrix::dense_f64(&data.x, data.rows(), data.columns).unwrap();
    let (a, b) = (a.model.probabilities(matrix).unwrap(), b.model.probabilities(matrix).unwrap());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn words(pairs: &[(&str, Value)]) -> Settings {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// The methods under a fixed link: the same minimum, and a Newton step is one round.
#[test]
fn weights_under_a_fixed_loss_are_those_of_memory() {
    let data = Data::new(3000, 5);
    let word = |word: &str| Value::Word(word.into());
    let cauchy = Value::Link(LinkSpec::builtin("cauchy"));
    let runs = [
        ("logistic", words(&[]), 1e-9),
        ("logistic", words(&[("solver", word("newton-cg")), ("scaling", word("none"))]), 1e-9),
        ("canonical", words(&[("link", cauchy), ("scaling", word("max-norm"))]), 1e-9),
        ("logistic", words(&[("scaling", word("unit-rows"))]), 1e-9),
        // Steps are as long in both, and their roundings add up.
        ("glmtron", words(&[]), 1e-6),
        ("averaged", words(&[("max_iter", Value::Count(40))]), 1e-6),
    ];
    for (name, given, tolerance) in &runs {
        for (kind, weighted) in [(Kind::F64, true), (Kind::F32, false), (Kind::Sparse, true)] {
            // The second block is empty.
            let blocks = InMemory::new(&data, kind, weighted, &[0, 700, 700, 2999]);
            let ((fit, rounds), whole) = both(name, given, &blocks);
            let apart = furthest(&fit, &whole, &data);
            assert!(apart < *tolerance, "{name} {given:?}: {apart}");
            assert_eq!(fit.termination, whole.termination, "{name} {given:?}");
            let newton = *name != "averaged" && *name != "glmtron" && !given.contains_key("solver");
            if newton {
                // Scaling, second moments, the start, its matrix; line searches may look further.
                let most = 2 * fit.iterations() + 4;
                assert!(rounds <= most, "{name} {given:?}: {rounds} rounds, {most}");
            }
        }
    }
}

/// The methods that learn the link: two rounds an iteration, scores counted in cells.
#[test]
fn links_are_learned_from_counted_scores() {
    let mut data = Data::new(4000, 4);
    // Rows of weight 0 would count in memory with their scores.
    data.weights.iter_mut().for_each(|weight| *weight += 1.0);
    let quadratic = words(&[("objective", Value::Word("quadratic".into()))]);
    let line = LinkSpec::Builtin { name: "clipped-line".into(), params: vec![0.5, 0.5] };
    let from_line = words(&[("initial_link", Value::Link(line))]);
    let runs = [
        ("labels", words(&[]), 1e-3),
        ("refit", words(&[]), 1e-3),
        ("bregmantron", words(&[]), 1e-3),
        ("bregmantron", quadratic, 1e-3),
        ("bregmantron", from_line, 1e-3),
        ("approx", words(&[]), 1e-3),
    ];
    for (name, mut given, tolerance) in runs {
        given.insert("max_iter".into(), Value::Count(60));
        for weighted in [false, true] {
            let blocks = InMemory::new(&data, Kind::F64, weighted, &[0, 900, 2000]);
            let ((fit, rounds), whole) = both(name, &given, &blocks);
            let apart = furthest(&fit, &whole, &data);
            println!("{name}: {apart:.1e}, {} iterations, {rounds} rounds", fit.iterations());
            assert!(apart < tolerance, "{name} {given:?}: {apart}");
            assert!(rounds <= 2 * fit.iterations() + 4, "{name}: {rounds}");
            let (loss, other) = (fit.loss().unwrap(), whole.loss().unwrap());
            assert!((loss - other).abs() < tolerance, "{name}: {loss} {other}");
        }
    }
}

/// Parts of the rows may be of one class, and who answers first changes nothing.
#[test]
fn one_class_blocks_and_the_order_of_answers() {
    let mut data = Data::new(1000, 3);
    data.y[..300].fill(0);
    for name in ["logistic", "labels"] {
        let mut blocks = InMemory::new(&data, Kind::F64, false, &[0, 300]);
        let ((fit, _), whole) = both(name, &Settings::new(), &blocks);
        assert!(furthest(&fit, &whole, &data) < 1e-3);
        blocks.backwards = true;
        let ((again, _), _) = both(name, &Settings::new(), &blocks);
        assert_eq!(furthest(&fit, &again, &data), 0.0);
    }
    let blocks = InMemory::new(&data, Kind::F64, false, &[0, 300]);
    for name in ["certified", "slisotron"] {
        let method = registry::method(name).unwrap();
        let mut parts = InBlocks::new(&blocks, &never).unwrap();
        let (estimator, _) = method.build(&Settings::new(), &parts.shape()).unwrap();
        let error = estimator.run(&mut parts, None, &mut Silent).unwrap_err();
        assert!(error.to_string().contains("needs all rows in memory"), "{name}: {error}");
    }
}

/// A fit says how far counting its scores can have moved its link.
#[test]
fn the_error_of_the_link_is_bounded_and_small() {
    let data = Data::new(20_000, 6);
    let blocks = InMemory::new(&data, Kind::F32, false, &[0, 5000]);
    let options = ProperLoss::default();
    let fit = options.fit_blocks(&blocks, &never).unwrap();
    assert!(fit.link_error_bound > 0.0 && fit.link_error_bound < 1e-4, "{}", fit.link_error_bound);
    let whole = local(&options, &data, Kind::F32, false);
    let apart = (fit.link_error_bound - whole.link_error_bound).abs();
    assert!(apart < 1e-3 * whole.link_error_bound, "{apart}");
}
