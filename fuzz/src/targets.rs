//! What the inputs are run against, and what must hold of an accepted one.

use std::path::Path;

use properloss::chain::{ChainProblem, Objective, solve};
use properloss::link::vector::VectorLink;
use properloss::link::{InverseLink, LinkSpec, registry};
use properloss::loss::CanonicalLoss;
use properloss_data::export::{ClassExportable, Export, Exportable, OnnxOptions, Target};
use properloss_data::model_file::ClassModelFile;
use properloss_data::read::{for_each_row, read_encoded};
use properloss_data::{
    Dataset, Error, Format, LossFile, Missing, ModelFile, ReadOptions, Source, Storage,
    UnknownCategory, read,
};

use crate::BUDGET;

/// FNV-1a: which options an input is read with is a matter of its bytes.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

fn options(bytes: &[u8], format: Option<Format>) -> ReadOptions {
    let h = hash(bytes);
    let bit = |k: u32| h >> k & 1 == 1;
    let mut options = ReadOptions::default();
    options.format = format;
    options.memory = Some(BUDGET);
    options.missing =
        [Missing::Error, Missing::Mean, Missing::Drop, Missing::Mean][(h >> 8 & 3) as usize];
    options.header = !bit(1) || !bit(2);
    options.storage = if bit(3) { Storage::F32 } else { Storage::F64 };
    options.zero_based = bit(4);
    options.positive = if bit(5) && bit(6) { vec!["1".into()] } else { Vec::new() };
    options.categorical = if bit(7) && bit(10) { vec!["a0".into()] } else { Vec::new() };
    options.weight = (bit(11) && bit(12)).then(|| "a0".into());
    options
}

/// What a reader promises of the examples it gives.
fn check_dataset(dataset: &Dataset) {
    assert_eq!(dataset.features.rows(), dataset.labels.len());
    assert!(dataset.labels.iter().all(|&label| label <= 1));
    assert_eq!(dataset.columns(), dataset.encoder.width());
    assert!(dataset.rows() > 0 && dataset.columns() > 0);
    let matrix = dataset.matrix().expect("a matrix");
    matrix.check_finite().expect("finite values");
    if let Some(weights) = &dataset.weights {
        assert_eq!(weights.len(), dataset.rows());
        assert!(weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
    }
}

/// Reads for training, then the same bytes again for prediction and for evaluation.
fn examples(source: &Source, options: &ReadOptions) -> bool {
    let Ok(dataset) = read(source, options) else { return false };
    check_dataset(&dataset);
    let unknown = UnknownCategory::Zeros;
    if let Ok(again) = read_encoded(source, &dataset.encoder, unknown, options) {
        check_dataset(&again);
    }
    let width = dataset.encoder.width();
    let _ = for_each_row(source, &dataset.encoder, unknown, options, |row| {
        match row.columns {
            None => assert_eq!(row.features.len(), width),
            Some(columns) => {
                assert_eq!(row.features.len(), columns.len());
                assert!(columns.is_sorted_by(|a, b| a < b));
                assert!(columns.iter().all(|&column| (column as usize) < width));
            }
        }
        Ok::<(), Error>(())
    });
    true
}

/// CSV.
pub fn csv(bytes: &[u8]) -> bool {
    examples(&Source::memory("in.csv", bytes), &options(bytes, Some(Format::Csv)))
}

/// TSV.
pub fn tsv(bytes: &[u8]) -> bool {
    examples(&Source::memory("in.tsv", bytes), &options(bytes, Some(Format::Tsv)))
}

/// Parquet; the files of pandas have a column of dates, which is no feature.
pub fn parquet(bytes: &[u8]) -> bool {
    let source = Source::memory("in.parquet", bytes);
    let mut options = options(bytes, Some(Format::Parquet));
    options.categorical.clear();
    options.weight = None;
    if examples(&source, &options) {
        return true;
    }
    options.ignore = vec!["when".into()];
    examples(&source, &options)
}

/// LibSVM.
pub fn libsvm(bytes: &[u8]) -> bool {
    examples(&Source::memory("in.libsvm", bytes), &options(bytes, Some(Format::Libsvm)))
}

/// IDX, the array itself: labels stand in a file of their own.
pub fn idx(bytes: &[u8]) -> bool {
    match properloss_data::idx::read_idx(&Source::memory("in.idx", bytes)) {
        Ok(array) => {
            assert_eq!(array.values.len(), array.shape.iter().product::<usize>());
            true
        }
        Err(_) => false,
    }
}

/// Labelled images: two bytes that say how long the file of labels is, that file, the images.
pub fn images(bytes: &[u8]) -> bool {
    let &[low, high, ref files @ ..] = bytes else { return false };
    let length = usize::from(u16::from_le_bytes([low, high])).min(files.len());
    let (labels, images) = files.split_at(length);
    let folder = crate::folder();
    let _ = std::fs::create_dir_all(&folder);
    let path = folder.join("labels");
    if std::fs::write(&path, labels).is_err() {
        return false;
    }
    let mut options = options(bytes, Some(Format::Idx));
    // Of several digits, one against the others or against one.
    let h = hash(bytes);
    options.positive = vec!["1".into()];
    options.negative = if h & 3 == 0 { vec!["0".into()] } else { Vec::new() };
    options.labels_file = Some(path);
    options.categorical.clear();
    options.weight = None;
    let accepted = examples(&Source::memory("in.idx", images), &options);
    let _ = std::fs::remove_dir_all(folder);
    accepted
}

/// Whatever the content is, by its first bytes, decompressed.
pub fn gzip(bytes: &[u8]) -> bool {
    let source = Source::memory("in.gz", bytes);
    let format = Format::detect(&source).ok().filter(|format| *format != Format::Idx);
    let format = if hash(bytes) & 1 == 0 { format } else { Some(Format::Libsvm) };
    idx(bytes) | examples(&source, &options(bytes, format))
}

/// A model file: written again it is the same, and it predicts.
pub fn model(bytes: &[u8]) -> bool {
    let Ok(file) = ModelFile::from_json(bytes, Path::new("in.json")) else { return false };
    let text = file.to_json().expect("an accepted model can be written");
    let again = ModelFile::from_json(text.as_bytes(), Path::new("again")).expect("and read again");
    assert_eq!(file, again);
    let model = file.model().expect("an accepted model can be built");
    check_link(&**model.link());
    let values = vec![1.0; file.weights.len()];
    if let Ok(matrix) = properloss::sample::Matrix::dense_f64(&values, 1, values.len()) {
        let mut scores = model.scores(matrix).expect("scores");
        if scores[0].is_finite() {
            model.apply_link(&mut scores);
            assert!((0.0..=1.0).contains(&scores[0]), "{}", scores[0]);
        }
    }
    true
}

/// A model file of several classes: written again it is the same, and its probabilities sum to 1.
pub fn classes(bytes: &[u8]) -> bool {
    let name = Path::new("in.json");
    let Ok(file) = ClassModelFile::from_json(bytes, name) else { return false };
    let text = file.to_json().expect("an accepted model can be written");
    assert_eq!(file, ClassModelFile::from_json(text.as_bytes(), name).expect("and read again"));
    let link = file.link.build().expect("an accepted link can be built");
    let mut p = vec![0.0; file.classes.len()];
    for scale in [0.0, 1.0, 1e3, 1e300] {
        let scores: Vec<f64> = (0..p.len()).map(|k| scale * (k as f64 - 1.0)).collect();
        link.probabilities(&scores, &mut p);
        assert!(p.iter().all(|p| (-1e-12..=1.0 + 1e-12).contains(p)), "{p:?} at {scale}");
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{p:?} at {scale}");
    }
    true
}

/// A model of two or of several classes in every form of `export`: written, or refused with a sentence.
pub fn export(bytes: &[u8]) -> bool {
    let bit = |k: u32| hash(bytes) >> k & 1 == 1;
    let unknown = if bit(0) { UnknownCategory::Zeros } else { UnknownCategory::Error };
    let name = Path::new("in.json");
    let model = if let Ok(file) = ModelFile::from_json(bytes, name) {
        Exportable::from_model(&file, unknown).map(Export::Two)
    } else if let Ok(file) = ClassModelFile::from_json(bytes, name) {
        ClassExportable::from_model(&file, unknown).map(Export::Several)
    } else {
        return false;
    };
    let Ok(model) = model else { return false };
    let mut options = OnnxOptions::default();
    (options.portable, options.float_input) = (bit(1), bit(2));
    let targets = [Target::Onnx(options), Target::C, Target::Sql("rows"), Target::Python];
    let forms = targets.map(|target| model.write(target));
    for form in &forms {
        match form {
            Ok(bytes) => assert!(!bytes.is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    forms.iter().all(Result::is_ok)
}

/// A loss file, likewise.
pub fn loss(bytes: &[u8]) -> bool {
    let Ok(file) = LossFile::from_json(bytes, Path::new("in.json")) else { return false };
    let text = file.to_json().expect("an accepted loss can be written");
    assert_eq!(file, LossFile::from_json(text.as_bytes(), Path::new("again")).expect("read again"));
    check_link(&*file.link.build().expect("an accepted link can be built"));
    true
}

/// `u` is a nondecreasing function to [0, 1], and its loss, if it has one, is no NaN.
fn check_link(link: &dyn InverseLink) {
    let grid: Vec<f64> = (-40..=40).map(|k| f64::from(k) / 4.0).collect();
    let values: Vec<f64> = grid.iter().map(|&z| link.u(z)).collect();
    for (k, &u) in values.iter().enumerate() {
        assert!((0.0..=1.0).contains(&u), "u({}) = {u}", grid[k]);
        // Rounding may turn two values that are equal by an ulp.
        assert!(k == 0 || u >= values[k - 1] - 4.0 * f64::EPSILON, "u falls at {}", grid[k]);
    }
    for &z in [f64::MIN, f64::MAX, f64::NEG_INFINITY, f64::INFINITY].iter().chain(&grid) {
        let u = link.u(z);
        assert!((0.0..=1.0).contains(&u), "u({z}) = {u}");
    }
    if let Ok(built) = link.spec().build()
        && let Ok(loss) = CanonicalLoss::new(built)
    {
        for p in [0.0, 1e-300, 0.25, 0.5, 1.0 - f64::EPSILON, 1.0] {
            for y in [0.0, 1.0] {
                assert!(!loss.partial_loss(y, p).is_nan(), "l_{y}({p})");
            }
        }
    }
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    let word = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
    bytes.as_chunks::<8>().0.iter().take(4096).map(word).collect()
}

/// The constructors of links: any numbers as knots, values and parameters.
pub fn link(bytes: &[u8]) -> bool {
    let numbers = floats(bytes);
    let (first, second) = numbers.split_at(numbers.len() / 2);
    let (mut z, mut u) = (first.to_vec(), second[..first.len()].to_vec());
    let h = hash(bytes);
    // Sorted input passes the first checks and reaches the later ones.
    if h & 3 != 0 {
        z.sort_by(f64::total_cmp);
        u.sort_by(f64::total_cmp);
    }
    if h & 4 != 0 && u.len() >= 2 {
        let last = u.len() - 1;
        (u[0], u[last]) = (0.0, 1.0);
        u.iter_mut().for_each(|u| *u = u.clamp(0.0, 1.0));
    }
    let entries = registry();
    let entry = &entries[(h >> 8) as usize % entries.len()];
    let builtin = LinkSpec::Builtin {
        name: entry.name.into(),
        params: numbers[..entry.parameters.len().min(numbers.len())].to_vec(),
    };
    let spec = match h >> 4 & 3 {
        0 => LinkSpec::Piecewise { z, u },
        1 => LinkSpec::Isotonic { z, u },
        2 => LinkSpec::Relative { base: Box::new(builtin), p: u.clone(), v: u },
        _ => builtin,
    };
    match spec.build() {
        Ok(link) => {
            check_link(&*link);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// A chain of any scores, targets, weights and bounds: refused, or solved within its bounds.
pub fn chain(bytes: &[u8]) -> bool {
    solved(bytes, &floats(bytes))
}

/// The same with enough points for the solver of long chains: the numbers over and over, a little
/// further each time, with other targets and weights.
pub fn long_chain(bytes: &[u8]) -> bool {
    let few = floats(bytes);
    let n = few.len();
    if n == 0 {
        return false;
    }
    let points = 4_096 + 7 * n;
    let scores = (0..points).map(|i| few[i % n] + (i / 5) as f64 * 1e-3);
    let others = (0..2 * points).map(|i| few[i * (i / n + 1) % n]);
    solved(bytes, &scores.chain(others).collect::<Vec<f64>>())
}

fn solved(bytes: &[u8], numbers: &[f64]) -> bool {
    let m = numbers.len() / 3;
    let h = hash(bytes);
    let mut scores = numbers[..m].to_vec();
    if h & 7 != 0 {
        scores.sort_by(f64::total_cmp);
    }
    let targets = &numbers[m..2 * m];
    let weights: Vec<f64> = numbers[2 * m..3 * m].iter().map(|w| w.abs()).collect();
    let link = registry()[(h >> 8) as usize % registry().len()].name;
    let link = LinkSpec::Builtin { name: link.into(), params: Vec::new() }.build();
    let objective = match &link {
        Ok(link) if h & 192 == 0 => Objective::Bregman { target_scores: targets, link: &**link },
        _ => Objective::Quadratic { targets },
    };
    let mut problem = ChainProblem::new(&scores, objective);
    if h & 8 != 0 {
        problem = problem.with_weights(&weights);
    }
    if h & 16 != 0 && m > 0 {
        problem = problem.with_slopes(targets[0], scores[0]);
    } else if h & 32 != 0 {
        problem = problem.with_slopes(1e-3, 10.0);
    }
    let Ok(solution) = solve(&problem) else { return false };
    assert_eq!(solution.values.len(), m);
    let (lowest, highest) = (solution.values[0], solution.values[m - 1]);
    assert!(solution.values.iter().all(|y| y.is_finite()), "{:?}", solution.values);
    assert!(lowest >= -1e-9 && highest <= 1.0 + 1e-9, "{lowest} {highest}");
    true
}
