//! Model and loss files: round trips, the golden files of version 1, and every refusal.

mod common;

use std::path::Path;

use common::{Directory, fixture, strings};
use properloss::design::FittedScaling;
use properloss::link::LinkSpec;
use properloss_data::encoder::{Column, ColumnKind, Label, Writing};
use properloss_data::model_file::{
    AnyFile, FitCertificate, Fitted, History, Preprocessing, StoredBound, StoredCost, read_any,
};
use properloss_data::{Classes, DataDescription, Encoder, Error, LossFile, Missing, ModelFile};
use proptest::prelude::*;

fn model() -> ModelFile {
    let encoder = Encoder {
        sparse: None,
        columns: vec![
            Column {
                name: "age".into(),
                kind: ColumnKind::Numeric { fill: Some(41.5) },
                written: Writing::Numbers,
            },
            Column {
                name: "colour".into(),
                kind: ColumnKind::Categorical {
                    categories: strings(&["blue", "red"]),
                    fill: Some(vec![0.25, 0.75]),
                },
                written: Writing::Numbers,
            },
        ],
        label: Some(Label {
            column: Some("outcome".into()),
            classes: Classes::new(strings(&["ill"]), strings(&["well"])).unwrap(),
            skip_others: false,
        }),
        weight: None,
        missing: Missing::Mean,
        missing_words: strings(&["", "NA"]),
    };
    ModelFile {
        weights: vec![0.1, -2.5e-7, 1.0 / 3.0],
        intercept: -0.0625,
        link: LinkSpec::Piecewise { z: vec![-2.0, 0.0, 0.7, 4.0], u: vec![0.0, 0.4, 0.75, 1.0] },
        feature_names: encoder.feature_names(),
        preprocessing: Preprocessing {
            encoder,
            scaling: FittedScaling::Standardise {
                mean: vec![41.5, 0.25, 0.75],
                factor: vec![0.1, 2.0, 2.0],
            },
        },
        classes: ["ill".into(), "well".into()],
        fitted: Fitted {
            method: "bregmantron".into(),
            options: [("slope_max".to_owned(), 1.0.into()), ("target".to_owned(), "labels".into())]
                .into(),
            data: DataDescription {
                source: "train.csv".into(),
                format: "csv".into(),
                rows: 100,
                features: 3,
                dropped_missing: 0,
                dropped_other_class: 0,
                unknown_categories: 0,
            },
            termination: "converged".into(),
            iterations: 57,
            total_weight: None,
            learned: None,
            program: "properloss 0.1.0".into(),
        },
        history: Some(History {
            iteration: vec![1, 57],
            loss: vec![0.69, 0.31],
            gradient_norm: vec![0.2, 1e-9],
        }),
    }
}

fn name() -> &'static Path {
    Path::new("m.json")
}

/// The refusal of a model whose JSON was changed by replacing a text once.
fn refusal(from: &str, to: &str) -> (String, String) {
    let json = model().to_json().unwrap();
    assert!(json.contains(from), "{from} is not in {json}");
    let error = ModelFile::from_json(json.replacen(from, to, 1).as_bytes(), name()).unwrap_err();
    (error.to_string(), error.hint().unwrap())
}

/// Golden files of version 1 are read for ever: never change the files, only add new ones.
#[test]
fn golden_model_of_version_1() {
    let read = ModelFile::read(&fixture("model-v1.json")).unwrap();
    assert_eq!(read, model());
    // u(0) = 0.4 and the line to (0.7, 0.75).
    let classifier = read.model().unwrap();
    assert_eq!(classifier.link().u(0.35), 0.575);
    assert!(!classifier.unit_rows());
    // Every other sort of link and scaling.
    let read = ModelFile::read(&fixture("model-v1-relative.json")).unwrap();
    assert_eq!(
        read.link,
        LinkSpec::Relative {
            base: Box::new(LinkSpec::Builtin {
                name: "clipped-line".into(),
                params: vec![0.5, 0.5]
            }),
            p: vec![0.0, 0.5, 1.0],
            v: vec![0.01, 0.4, 0.98]
        }
    );
    assert_eq!(read.preprocessing.scaling, FittedScaling::UnitRows);
    assert!(read.model().unwrap().unit_rows());
    assert_eq!((read.history, read.fitted.iterations), (None, 3));
    assert_eq!(read.preprocessing.encoder.label, None);
}

#[test]
fn golden_loss_of_version_1() {
    let loss = LossFile::read(&fixture("loss-v1.json")).unwrap();
    assert_eq!(loss, model().loss());
    let sigmoid = LossFile::read(&fixture("loss-v1-sigmoid.json")).unwrap();
    assert_eq!(
        sigmoid,
        LossFile { link: LinkSpec::builtin("sigmoid"), kind: None, provenance: None }
    );
}

/// What is written now is what the golden file says; if this fails the format has changed, and the
/// version has to.
#[test]
fn the_writer_still_writes_the_golden_file() {
    let golden = std::fs::read_to_string(fixture("model-v1.json")).unwrap();
    assert_eq!(model().to_json().unwrap(), golden);
    let golden = std::fs::read_to_string(fixture("loss-v1.json")).unwrap();
    assert_eq!(model().loss().to_json().unwrap(), golden);
}

#[test]
fn files_are_written_whole_and_read_back() {
    let directory = Directory::new();
    let (path, loss_path) = (directory.0.join("m.json"), directory.0.join("l.json"));
    model().write(&path).unwrap();
    model().loss().write(&loss_path).unwrap();
    assert_eq!(ModelFile::read(&path).unwrap(), model());
    assert_eq!(read_any(&path).unwrap(), AnyFile::Model(Box::new(model())));
    assert_eq!(read_any(&loss_path).unwrap(), AnyFile::Loss(Box::new(model().loss())));
    assert_eq!(directory.names(), ["l.json", "m.json"]);
    // A model that cannot be written leaves the old one.
    let before = std::fs::read(&path).unwrap();
    let bad = ModelFile { intercept: f64::NAN, ..model() };
    let error = bad.write(&path).unwrap_err();
    assert!(error.to_string().ends_with("m.json: intercept: NaN is not finite"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(directory.names(), ["l.json", "m.json"]);
}

#[test]
fn a_newer_version_is_refused_and_a_new_field_is_not() {
    assert_eq!(
        refusal("\"version\": 1", "\"version\": 3"),
        (
            "m.json: properloss-model version 3; this program reads versions up to 2".into(),
            "install a newer properloss".into()
        )
    );
    // Even if nothing else in it is understood.
    let newer = br#"{"version": 7, "format": "properloss-loss", "shape": []}"#;
    let error = LossFile::from_json(newer, name()).unwrap_err();
    assert!(matches!(error, Error::NewerVersion { found: 7, known: 1, .. }), "{error}");
    let json = model().to_json().unwrap();
    let more = json.replacen("\"version\": 1", "\"version\": 1, \"remark\": [1, {}]", 1);
    assert_eq!(ModelFile::from_json(more.as_bytes(), name()).unwrap(), model());
}

#[test]
fn other_files_are_refused() {
    let loss = model().loss().to_json().unwrap();
    let error = ModelFile::from_json(loss.as_bytes(), name()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m.json: expected format \"properloss-model\", found \"properloss-loss\""
    );
    let error = ModelFile::from_json(b"{}", name()).unwrap_err();
    assert_eq!(error.to_string(), "m.json: expected format \"properloss-model\", found none");
    for (version, reason) in [("", "missing"), (", \"version\": 0", "0 is not a version")] {
        let json = format!("{{\"format\": \"properloss-model\"{version}}}");
        let error = ModelFile::from_json(json.as_bytes(), name()).unwrap_err();
        assert_eq!(error.to_string(), format!("m.json: version: {reason}"));
    }
    let error = ModelFile::read(Path::new("no/such.json")).unwrap_err();
    assert!(matches!(error, Error::FileNotFound { .. }));
    let error = ModelFile::from_json(b"", name()).unwrap_err();
    assert!(matches!(error, Error::WrongFormat { .. }));
}

#[test]
fn a_cut_file_is_named_at_every_length() {
    let json = model().to_json().unwrap();
    let end = json.trim_end().len();
    for cut in 1..end {
        let error = ModelFile::from_json(&json.as_bytes()[..cut], name()).unwrap_err();
        assert!(matches!(error, Error::Json { truncated: true, .. }), "cut at {cut}: {error}");
    }
    let error = ModelFile::from_json(&json.as_bytes()[..40], name()).unwrap_err();
    assert_eq!(error.to_string(), "m.json, line 3, column 6: EOF while parsing a string");
    assert_eq!(error.hint().unwrap(), "the file is cut short; write it again");
}

#[test]
fn wrong_values_are_named() {
    // Not JSON, with line and column.
    let (what, _) = refusal("\"intercept\": -0.0625", "\"intercept\": NaN");
    assert_eq!(what, "m.json, line 5, column 16: expected value");
    let (what, _) = refusal("-0.0625", "1e999");
    assert_eq!(what, "m.json, line 5, column 20: number out of range");
    let (what, _) = refusal("-0.0625", "null");
    assert!(what.starts_with("m.json, line 5, column 19: invalid type: null"), "{what}");
    let (what, _) = refusal("  \"intercept\": -0.0625,\n", "");
    assert!(what.contains("missing field `intercept`"), "{what}");
    // JSON, but not a model.
    let cases = [
        ("[0.1, -2.5e-7,", "[-2.5e-7,", "feature_names: 3 values, but there are 2 weights"),
        (
            "\"feature_names\": [\"age\"",
            "\"feature_names\": [\"size\"",
            "feature_names[0]: \"size\", but the encoder makes \"age\"",
        ),
        (
            "0.0, 0.7, 4.0",
            "0.7, 0.7, 4.0",
            "link: x[2] is 0.7, but x[1] is 0.7; x must increase strictly",
        ),
        (
            "[0.0, 0.4, 0.75, 1.0]",
            "[0.0, 0.4, 0.75, 0.9]",
            "link: u[3] is 0.9; it must be 1, the value of an inverse link at z_max",
        ),
        (
            "[0.0, 0.4, 0.75, 1.0]",
            "[0.0, 0.4, 1.0]",
            "link: x has 4 value(s), but y has 3; they must agree",
        ),
        ("[-2.0, 0.0, 0.7, 4.0]", "[1]", "link: x has 1 value(s), but y has 4; they must agree"),
        (
            "\"factor\": [0.1, 2.0, 2.0]",
            "\"factor\": [0.1, 2.0]",
            "preprocessing.scaling.factor: 2 values, but there are 3 weights",
        ),
        (
            "[\"blue\", \"red\"]",
            "[\"red\", \"blue\"]",
            "encoder.columns[1] (\"colour\").categories: not sorted, or one stands twice",
        ),
        (
            "[0.25, 0.75]}",
            "[0.25]}",
            "encoder.columns[1] (\"colour\").fill: 1 values, 2 categories",
        ),
        (
            "\"name\": \"colour\"",
            "\"name\": \"age\"",
            "encoder.columns[1] (\"age\"): the name stands twice",
        ),
        (
            "\"positive\": [\"well\"]",
            "\"positive\": [\"ill\"]",
            "encoder.label: class \"ill\" is named both negative and positive",
        ),
        ("[\"ill\", \"well\"]", "[\"well\", \"well\"]", "classes: both have the same name"),
        ("[0.69, 0.31]", "[0.69]", "history.loss: 1 values for 2 iterations"),
        (
            "\"slope_max\": 1.0",
            "\"slope_max\": null",
            "options.slope_max: it is null, or was not finite",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(refusal(from, to).0, format!("m.json: {expected}"));
    }
}

#[test]
fn no_value_that_is_not_finite_is_written() {
    type Change = fn(&mut ModelFile);
    let cases: [(Change, &str); 8] = [
        (|m| m.weights[1] = f64::INFINITY, "weights[1]: inf is not finite"),
        (|m| m.intercept = f64::NEG_INFINITY, "intercept: -inf is not finite"),
        (
            |m| m.link = LinkSpec::Piecewise { z: vec![f64::NAN, 1.0], u: vec![0.0, 1.0] },
            "link: x[0] is NaN; every value must be finite",
        ),
        (
            |m| {
                m.link =
                    LinkSpec::Builtin { name: "clipped-line".into(), params: vec![f64::NAN, 0.0] }
            },
            "link: a is NaN; it must be finite and above 0",
        ),
        (
            |m| m.preprocessing.scaling = FittedScaling::MaxNorm { factor: f64::NAN },
            "preprocessing.scaling.factor: NaN is not finite",
        ),
        (
            |m| {
                m.preprocessing.encoder.columns[0].kind =
                    ColumnKind::Numeric { fill: Some(f64::NAN) };
            },
            "encoder.columns[0] (\"age\").fill: NaN is not finite",
        ),
        (|m| m.history.as_mut().unwrap().loss[0] = f64::NAN, "history.loss[0]: NaN is not finite"),
        (
            |m| {
                m.fitted.options.insert("tol".into(), f64::NAN.into());
            },
            "options.tol: it is null, or was not finite",
        ),
    ];
    for (change, expected) in cases {
        let mut changed = model();
        change(&mut changed);
        assert_eq!(changed.to_json().unwrap_err().to_string(), format!("model: {expected}"));
    }
}

/// The options of a fit as plain values: a link by its name, with its parameters if it has any.
#[test]
fn options_are_plain_values() {
    use properloss::link::LinkSpec;
    use properloss::train::Value;
    let link = |name: &str, params: &[f64]| {
        Value::Link(LinkSpec::Builtin { name: name.into(), params: params.to_vec() })
    };
    let learned = LinkSpec::Piecewise { z: vec![0.0, 1.0], u: vec![0.0, 1.0] };
    let settings = [
        ("a", link("clipped-line", &[0.5, 0.25])),
        ("b", link("sigmoid", &[])),
        ("c", Value::Link(learned.clone())),
        ("d", Value::Flag(true)),
        ("e", Value::Numbers(vec![1.0, 2.5])),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let plain =
        serde_json::to_value(properloss_data::model_file::plain_options(&settings)).unwrap();
    let expected = serde_json::json!({
        "a": "clipped-line:0.5,0.25", "b": "sigmoid", "c": learned.name(), "d": true, "e": [1.0, 2.5],
    });
    assert_eq!(plain, expected);
}

/// Names come from the file, and from its encoder where the file has none.
#[test]
fn features_have_names() {
    let mut file = model();
    let names: Vec<String> = (0..3).map(|j| file.feature_name(j)).collect();
    assert_eq!(names, ["age", "colour=blue", "colour=red"]);
    file.feature_names = strings(&["years"]);
    assert_eq!((file.feature_name(0), file.feature_name(2)), ("years".into(), "colour=red".into()));
}

/// A history of a fit is its iterations, losses and gaps.
#[test]
fn a_history_is_that_of_the_fit() {
    let text = "x,y\n1,0\n2,0\n3,1\n4,0\n5,1\n6,1\n";
    let data = common::read_csv(text, &properloss_data::ReadOptions::default()).unwrap();
    let method = properloss::train::registry::method("glmtron").unwrap();
    let given = [("max_iter".to_owned(), properloss::train::Value::Count(7))];
    let training = properloss_data::training::Training::new(method, given.into_iter().collect());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let trained = training.run(&data.sample().unwrap(), &stop, &mut properloss::train::Silent);
    let course = trained.unwrap().fit.history;
    let history = History::of(&course, 100);
    assert_eq!(history.iteration.len(), course.len());
    assert!(course.len() > 2);
    for (k, step) in course.iter().enumerate() {
        assert_eq!(history.iteration[k], step.iteration as u64);
        assert_eq!((history.loss[k], history.gradient_norm[k]), (step.loss, step.gap));
    }
}

#[test]
fn a_history_is_thinned_between_its_ends() {
    let course: Vec<(u64, f64, f64)> = (1..=1000).map(|t| (t, 1.0 / t as f64, 0.0)).collect();
    let history = History::thinned(course.clone(), 5);
    assert_eq!(history.iteration, [1, 250, 500, 750, 1000]);
    assert_eq!(history.loss[1], 1.0 / 250.0);
    assert_eq!(History::thinned(course[..3].to_vec(), 5).iteration, [1, 2, 3]);
    assert_eq!(History::thinned(course[..1].to_vec(), 5).iteration, [1]);
    let broken = vec![(1, f64::INFINITY, 1.0), (2, 0.5, f64::NAN), (3, 0.25, 0.5)];
    assert_eq!(History::thinned(broken, 5).iteration, [3]);
    assert_eq!(History::thinned([], 5).iteration, [0; 0]);
}

#[test]
fn a_classifier_survives_its_file() {
    use properloss::train::Model;
    let specs = [
        LinkSpec::builtin("cloglog"),
        LinkSpec::Builtin { name: "clipped-line".into(), params: vec![0.3, 0.6] },
        LinkSpec::Piecewise { z: vec![-1.0, 0.1, 2.0], u: vec![0.0, 0.3, 1.0] },
        LinkSpec::Isotonic { z: vec![-1.0, 0.1, 0.2, 2.0], u: vec![0.0, 0.3, 0.3, 1.0] },
        LinkSpec::Relative {
            base: Box::new(LinkSpec::builtin("sigmoid")),
            p: vec![0.0, 0.3, 1.0],
            v: vec![0.0, 0.5, 1.0],
        },
    ];
    let encoder = Encoder::numeric(strings(&["a", "b"]));
    for spec in specs {
        let classifier = Model::new(vec![0.1, -0.7], 0.3, spec.build().unwrap()).unwrap();
        let classifier = classifier.on_unit_rows();
        let file = ModelFile::new(
            &classifier,
            encoder.clone(),
            FittedScaling::UnitRows,
            ["0".into(), "1".into()],
            Fitted::default(),
        );
        let json = file.to_json().unwrap();
        let read = ModelFile::from_json(json.as_bytes(), name()).unwrap();
        assert_eq!(read, file);
        assert_eq!(read.link, spec);
        let again = read.model().unwrap();
        for z in [-1.5, -0.2, 0.15, 1.0, 3.0] {
            assert_eq!(again.link().u(z).to_bits(), classifier.link().u(z).to_bits());
        }
        assert_eq!(again.coefficients(), classifier.coefficients());
        assert_eq!((again.intercept(), again.unit_rows()), (0.3, true));
    }
    let unknown =
        LossFile { link: LinkSpec::builtin("no-such-link"), kind: None, provenance: None };
    assert!(unknown.to_json().unwrap_err().to_string().contains("no-such-link"));
}

proptest! {
    /// Every finite number survives the file to the bit.
    #[test]
    fn any_numbers_survive(
        values in prop::collection::vec(
            prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 1..40),
        intercept in prop::num::f64::NORMAL,
        names in prop::collection::vec("\\PC{0,8}", 2),
    ) {
        prop_assume!(names[0] != names[1]);
        let encoder = Encoder::numeric((0..values.len()).map(|j| format!("{}{j}", names[0])));
        let mut knots: Vec<f64> = values.clone();
        knots.sort_by(f64::total_cmp);
        knots.dedup();
        let last = knots.len() as f64 - 1.0;
        let link = if knots.len() < 2 {
            LinkSpec::builtin("probit")
        } else {
            let u = (0..knots.len()).map(|k| k as f64 / last).collect();
            LinkSpec::Piecewise { z: knots, u }
        };
        let model = ModelFile {
            weights: values.clone(),
            intercept,
            link,
            feature_names: encoder.feature_names(),
            preprocessing: Preprocessing {
                encoder,
                scaling: FittedScaling::Standardise { mean: values.clone(), factor: values },
            },
            classes: [names[0].clone(), names[1].clone()],
            fitted: Fitted::default(),
            history: None,
        };
        let json = model.to_json().unwrap();
        let read = ModelFile::from_json(json.as_bytes(), name()).unwrap();
        prop_assert_eq!(&read, &model);
        let bits = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&read.weights), bits(&model.weights));
        prop_assert_eq!(read.to_json().unwrap(), json);
    }

    /// Changed bytes are read or refused, never a panic.
    #[test]
    fn damaged_files_do_not_panic(position in 0usize..1000, byte in any::<u8>()) {
        let mut bytes = model().to_json().unwrap().into_bytes();
        let length = bytes.len();
        bytes[position % length] = byte;
        let _ = ModelFile::from_json(&bytes, name());
    }
}

/// A file keeps the certificates of its fit, a file without them reads as before, and numbers that
/// cannot be are refused by name. Readers of the first version pass over fields they do not know.
#[test]
fn certificates() {
    let certificate = FitCertificate {
        calibration_bound: Some(StoredBound {
            rms: 0.1,
            held_out_rms: 0.125,
            confidence: 0.95,
            rows: 400,
            folds: 5,
            assumption: "the truth does not decrease".into(),
            against_monotone: 0.5,
            assumption_rejected: false,
        }),
        link_cost: Some(StoredCost { nats: -2.5, at_most: 0.4519 }),
    };
    let learned = Some(serde_json::json!({ "certificate": certificate }));
    let with = ModelFile { fitted: Fitted { learned, ..model().fitted }, ..model() };
    assert_eq!(with.fitted.certificate(), Some(certificate));
    let json = with.to_json().unwrap();
    let again = ModelFile::from_json(json.as_bytes(), Path::new("model.json")).unwrap();
    assert_eq!(again, with);
    let words = again.fitted.certificate().unwrap().words().join("\n");
    for part in ["95 %", "400 training rows", "0.1000", "0.1250", "not rejected", "-2.50", "+0.45"]
    {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(words.starts_with("95 % certain: "), "{words}");
    assert_eq!(model().fitted.certificate(), None);
    for (good, bad, field) in [
        ("\"rms\": 0.1", "\"rms\": 1.5", "certificate.calibration_bound.rms"),
        ("\"against_monotone\": 0.5", "\"against_monotone\": -1", "against_monotone"),
    ] {
        assert!(json.contains(good));
        let broken = json.replace(good, bad);
        let error = ModelFile::from_json(broken.as_bytes(), Path::new("m")).unwrap_err();
        assert!(error.to_string().contains(field), "{error}");
    }
}

/// Scores with a label each, more often 1 the higher: a sigmoid with a floor.
fn scores(rows: usize) -> (Vec<f64>, Vec<u8>) {
    let mut random = properloss_data::random::Random::new(5);
    let scores: Vec<f64> = (0..rows).map(|_| 6.0 * random.uniform() - 3.0).collect();
    let p = |z: f64| 0.2 + 0.8 / (1.0 + (-2.0 * z).exp());
    let labels = scores.iter().map(|&z| u8::from(random.uniform() < p(z))).collect();
    (scores, labels)
}

/// Points of a fit against the objects of a file; a number that is not finite is a word there.
fn table<const N: usize>(said: &serde_json::Value, points: &[[(&str, f64); N]]) {
    let said = said.as_array().unwrap();
    assert!(!points.is_empty() && said.len() == points.len());
    for (said, point) in said.iter().zip(points) {
        assert_eq!(said.as_object().unwrap().len(), N);
        for &(field, value) in point {
            let word = value.to_string();
            let same = if value.is_finite() { said[field] == value } else { said[field] == word };
            assert!(same, "{field}: {said} for {value}");
        }
    }
}

/// What cross-validation weighed and found stands in the file with the numbers of the fit.
#[test]
fn what_was_learned_is_in_the_file() {
    use properloss::proper::{Calibrator, LinkPoint, ProperLoss};
    use properloss::sample::{Matrix, Sample};
    use properloss_data::model_file::{learned, learned_calibration};
    let (scores, labels) = scores(400);
    let matrix = Matrix::dense_f64(&scores, scores.len(), 1).unwrap();
    let fit = ProperLoss::default().fit(&Sample::new(matrix, &labels, None).unwrap()).unwrap();
    let link = |point: &LinkPoint| {
        [
            ("smoothness", point.smoothness),
            ("slope_ratio", point.slope_ratio),
            ("log_loss", point.log_loss),
            ("score", point.score),
            ("weight", point.weight),
        ]
    };
    let links = |points: &[LinkPoint]| points.iter().map(link).collect::<Vec<_>>();
    let said = learned(&fit);
    for (field, value) in [
        ("c", fit.c),
        ("slope_ratio", fit.slope_ratio),
        ("guarantee", fit.slope_ratio.ln()),
        ("refit_share", fit.refit_share),
        ("link_error_bound", fit.link_error_bound),
    ] {
        assert_eq!(said[field], value, "{field}");
    }
    assert_eq!(said["held_out_log_loss"], serde_json::json!(fit.held_out_log_loss));
    assert_eq!(said["scaling_weights"], serde_json::json!(fit.scaling_weights));
    let path: Vec<_> = fit
        .path
        .iter()
        .map(|point| {
            [
                ("scaling", point.scaling),
                ("c", point.c),
                ("log_loss", point.log_loss),
                ("score", point.score),
                ("weight", point.weight),
            ]
        })
        .collect();
    table(&said["path"], &path);
    table(&said["links"], &links(&fit.links));
    assert!(fit.links.iter().any(|point| point.smoothness == f64::INFINITY));
    // The certificate is that of the fit, and is found again in the file.
    let bound = fit.calibration_bound.unwrap();
    let fitted = Fitted { learned: Some(said), ..Fitted::default() };
    let certificate = fitted.certificate().unwrap();
    let cost = StoredCost { nats: fit.link_cost.nats, at_most: fit.link_cost.at_most };
    assert_eq!(certificate.link_cost, Some(cost));
    let stored = certificate.calibration_bound.clone().unwrap();
    assert_eq!(
        (stored.rms, stored.held_out_rms, stored.confidence, stored.against_monotone),
        (bound.rms, bound.held_out_rms, bound.confidence, bound.against_monotone)
    );
    assert_eq!((stored.rows, stored.folds), (bound.rows as u64, bound.folds as u64));
    assert_eq!((stored.rows, stored.folds), (400, 5));
    assert_eq!(stored.assumption_rejected, bound.assumption_rejected());
    assert!(!stored.assumption.is_empty());
    // A cost that is no number, where no row was held out, is not kept.
    let mut lost = fit.link_cost;
    lost.nats = f64::NAN;
    assert_eq!(FitCertificate::new(None, lost), FitCertificate::default());
    // A calibration says the same of its link.
    let calibration = Calibrator::default().fit(&scores, &labels, None).unwrap();
    let said = learned_calibration(&calibration, &certificate);
    assert_eq!(said["slope_ratio"], calibration.slope_ratio);
    assert_eq!(said["guarantee"], calibration.slope_ratio.ln());
    assert_eq!(said["held_out_log_loss"], serde_json::json!(calibration.held_out_log_loss));
    table(&said["links"], &links(&calibration.links));
    assert_eq!(said["certificate"], serde_json::json!(certificate));
}

/// The verdict on the assumption and the second bound are said only where there is something to say.
#[test]
fn a_certificate_in_words() {
    let bound = |folds, assumption_rejected| StoredBound {
        rms: 0.25,
        held_out_rms: 0.5,
        confidence: 0.9,
        rows: 12,
        folds,
        assumption: "order".into(),
        against_monotone: 1234.5,
        assumption_rejected,
    };
    let words = |bound, cost| FitCertificate { calibration_bound: bound, link_cost: cost }.words();
    assert_eq!(words(None, None), [""; 0]);
    let one = words(Some(bound(1, true)), None);
    assert_eq!(one.len(), 2);
    assert!(one[0].starts_with("90 % certain") && !one[0].contains("0.5000"), "{one:?}");
    assert!(one[1].contains("order (REJECTED, the bound is void"), "{one:?}");
    assert!(one[1].contains("1.23e3"), "{one:?}");
    let two = words(Some(bound(2, false)), None);
    assert!(two[0].contains("held-out scores within 0.5000") && two[1].contains("(not rejected"));
    let cost = words(None, Some(StoredCost { nats: 1.5, at_most: 2.0 }));
    assert!(cost.len() == 1 && cost[0].contains("+1.50 nats") && cost[0].contains("+2.00"));
}

/// The encoder of a model knows its classes, whether it was made of a table or of arrays.
#[test]
fn classes_of_a_model_are_labels_of_its_encoder() {
    let own = model().labelled_encoder().unwrap();
    assert_eq!(own.label, model().preprocessing.encoder.label);
    let mut arrays = model();
    arrays.preprocessing.encoder.label = None;
    let label = arrays.labelled_encoder().unwrap().label.unwrap();
    assert_eq!(label.classes.names(), arrays.classes);
    assert_eq!((label.column, label.skip_others), (None, false));
    let same = ModelFile { classes: ["a".into(), "a".into()], ..arrays };
    assert!(same.labelled_encoder().is_err());
}

/// The loss of a model is the one that it was fitted under; else the link decides.
#[test]
fn the_loss_of_a_model_is_the_one_that_was_asked_for() {
    use properloss::loss::LossKind;
    let kind = |link: &str, asked: Option<&str>| {
        let mut file = ModelFile { link: LinkSpec::builtin(link), ..model() };
        file.fitted.options =
            asked.iter().map(|&kind| ("loss_kind".to_owned(), kind.into())).collect();
        file.loss().kind
    };
    assert_eq!(kind("sigmoid", None), None);
    assert_eq!(kind("sigmoid", Some("canonical")), None);
    assert_eq!(kind("probit", Some("composite")), Some(LossKind::Composite));
    // The Cauchy link has no canonical loss.
    assert_eq!(kind("cauchy", None), Some(LossKind::Composite));
    let canonical = LossFile {
        link: LinkSpec::builtin("cauchy"),
        kind: Some(LossKind::Canonical),
        provenance: None,
    };
    assert!(canonical.to_json().unwrap_err().to_string().starts_with("loss: kind: "));
}

/// What was found instead of a model is said, a table or an empty file too.
#[test]
fn what_is_no_model_is_described() {
    let directory = Directory::new();
    for (content, found) in [
        (&b""[..], "an empty file"),
        (b"a,b\n1,2\n", "something else than JSON"),
        (b" \n{\"version\": 1}", "none"),
        (b"{\"format\": \"other\"}", "\"other\""),
        (b"[1, 2]", "something else than JSON"),
        (b"{\0}", "none"),
    ] {
        let path = directory.write("m.json", content);
        for error in [read_any(&path).unwrap_err(), ModelFile::read(&path).unwrap_err()] {
            match error {
                Error::WrongFormat { found: said, .. } => assert_eq!(said, found, "{content:?}"),
                // A NUL is damage of an object.
                Error::Json { .. } => assert_eq!(content, b"{\0}"),
                other => panic!("{content:?}: {other}"),
            }
        }
    }
    // A model that is longer than what its beginning is judged by is read whole.
    let json = model().to_json().unwrap();
    let long = json.replacen('{', &format!("{{\"remark\": \"{}\",", "x".repeat(10_000)), 1);
    let path = directory.write("long.json", long.as_bytes());
    assert_eq!(ModelFile::read(&path).unwrap(), model());
    // And a long text of another kind by its beginning only.
    let table = directory.write("table.csv", "1,2\n".repeat(10_000).as_bytes());
    assert!(matches!(ModelFile::read(&table), Err(Error::WrongFormat { .. })));
}
