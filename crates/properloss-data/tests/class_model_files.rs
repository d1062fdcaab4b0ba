//! Model files of several classes: written and read again, and refused with the field that is wrong.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use properloss::design::FittedScaling;
use properloss::link::vector::{ClassRamp, Mixture, Ramp, VectorLink};
use properloss::multiclass::MulticlassProperLoss;
use properloss_data::encoder::Label;
use properloss_data::model_file::{
    ClassModelFile, Fitted, MixtureFile, Preprocessing, learned_of_classes,
};
use properloss_data::{
    ClassDataset, Classes, Encoder, Examples, ModelFile, ReadOptions, Source, read_examples,
};
use serde_json::{Value, json};

fn model() -> ClassModelFile {
    let ramp = ClassRamp::new(3, 1, Ramp::between(0.2, 0.7).unwrap()).unwrap();
    let link = Mixture::new(3, &[(0.6, 1.0), (0.2, 4.0)], vec![0.05, 0.0, 0.05], vec![(0.1, ramp)]);
    let names = vec!["x0".to_owned(), "x1".to_owned()];
    ClassModelFile {
        weights: vec![vec![0.1, 1.0 / 3.0], vec![-2.0, 0.5], vec![1e-300, 7.0]],
        intercepts: vec![0.1, 0.2, -0.3],
        link: MixtureFile::from(&link.unwrap()),
        preprocessing: Preprocessing {
            encoder: Encoder::numeric(names.clone()),
            scaling: FittedScaling::None,
        },
        feature_names: names,
        classes: ["cod", "eel", "ray"].map(str::to_owned).to_vec(),
        fitted: Fitted::default(),
    }
}

#[test]
fn what_is_written_is_read() {
    let model = model();
    let text = model.to_json().unwrap();
    let again = ClassModelFile::from_json(text.as_bytes(), Path::new("m.json")).unwrap();
    assert_eq!(model, again);
    let fields: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(fields["version"], 2);
    assert_eq!(fields["link"]["ramps"][0]["class"], 1);
    // The mixture by hand at z = 0: softmax 1/3 each, ramp (1/3 - .2) / .5 on class 1.
    let mut p = [0.0; 3];
    again.link.build().unwrap().probabilities(&[0.0; 3], &mut p);
    let r = (1.0 / 3.0 - 0.2) / 0.5;
    let expected = 0.8 / 3.0 + 0.1 * r;
    assert!((p[1] - expected).abs() < 1e-15, "{} {expected}", p[1]);
}

/// Of any file: a model of several classes, or for another reader to judge.
#[test]
fn several_classes_are_told_from_other_files() {
    let folder = common::Directory::new();
    let text = model().to_json().unwrap();
    let several = folder.write("several.json", text.as_bytes());
    assert_eq!(ClassModelFile::read_if_several(&several).unwrap(), Some(model()));
    for name in ["model-v1.json", "loss-v1.json", "nowhere.json"] {
        assert_eq!(
            ClassModelFile::read_if_several(&common::fixture(name)).unwrap(),
            None,
            "{name}"
        );
    }
    // One that says it is such a model, and is not whole, is an error.
    let broken = folder.write("broken.json", text.replace("\"classes\"", "\"klasses\"").as_bytes());
    assert!(ClassModelFile::read_if_several(&broken).is_err());
}

#[test]
fn golden_model_of_version_2() {
    let text = include_bytes!("fixtures/model-v2.json");
    let golden = ClassModelFile::from_json(text, Path::new("model-v2.json")).unwrap();
    assert_eq!(golden.weights, model().weights);
    assert_eq!(golden.intercepts, model().intercepts);
    assert_eq!(golden.classes, model().classes);
    let (mut p, mut q) = ([0.0; 3], [0.0; 3]);
    for z in [[0.0; 3], [1.0, -2.0, 0.5], [0.0, 3.0, -40.0]] {
        golden.link.build().unwrap().probabilities(&z, &mut p);
        model().link.build().unwrap().probabilities(&z, &mut q);
        assert_eq!(p, q, "at {z:?}");
    }
}

#[test]
fn a_wrong_field_is_named() {
    let wrong = |change: fn(&mut Value)| {
        let mut fields: Value = serde_json::from_str(&model().to_json().unwrap()).unwrap();
        change(&mut fields);
        let text = fields.to_string();
        ClassModelFile::from_json(text.as_bytes(), Path::new("m.json")).unwrap_err().to_string()
    };
    for (message, field) in [
        (wrong(|f| f["classes"][2] = json!("cod")), "classes[2]"),
        (wrong(|f| f["classes"] = json!(["a", "b"])), "classes"),
        (wrong(|f| f["weights"][1] = json!([1.0])), "weights[1]"),
        (wrong(|f| f["intercepts"] = json!([1.0, 2.0])), "intercepts"),
        (wrong(|f| f["link"]["floor"][0] = json!(0.5)), "link"),
        (wrong(|f| f["link"]["ramps"][0]["class"] = json!(3)), "link"),
        (wrong(|f| f["feature_names"][0] = json!("y")), "feature_names"),
    ] {
        assert!(message.contains("m.json") && message.contains(field), "{message}");
    }
    let newer = wrong(|f| f["version"] = json!(3));
    assert!(newer.contains('3'), "{newer}");
}

#[test]
fn a_reader_of_two_classes_says_so() {
    let text = model().to_json().unwrap();
    let error = ModelFile::from_json(text.as_bytes(), Path::new("m.json")).unwrap_err();
    assert!(error.to_string().contains("several classes"), "{error}");
}

/// Rows of scores to rows of probabilities, by the link and by hand.
#[test]
fn scores_become_probabilities() {
    let model = model();
    let data = [1.0, 3.0, 0.0, 0.0];
    let matrix = properloss::sample::Matrix::dense_f64(&data, 2, 2).unwrap();
    let scores = model.scores(&matrix).unwrap();
    let expected = [0.1 + 1.0 + 0.1, -2.0 + 1.5 + 0.2, 1e-300 + 21.0 - 0.3, 0.1, 0.2, -0.3];
    assert!(scores.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{scores:?}");
    let p = model.apply_link(&scores).unwrap();
    let mut q = [0.0; 3];
    for (row, z) in scores.chunks(3).enumerate() {
        model.link.build().unwrap().probabilities(z, &mut q);
        assert_eq!(p[3 * row..3 * row + 3], q);
    }
    // A class that the link gives nothing has the least positive probability.
    let link =
        MixtureFile::from(&Mixture::new(3, &[(1.0, 1.0)], vec![0.0; 3], Vec::new()).unwrap());
    let sharp = ClassModelFile { link, ..model };
    let p = sharp.apply_link(&[0.0, -1e6, 0.0]).unwrap();
    assert_eq!(p, [0.5, f64::MIN_POSITIVE, 0.5]);
}

const IRIS: &str = "a,b,w,y\n1,0,1,x\n2,1,1,x\n1,1,2,x\n5,0,1,y\n6,1,1,y\n5,2,1,y\n1,7,1,z\n\
                    2,8,0.5,z\n1,9,1,z\n2,0,1,x\n6,0,1,y\n2,7,1,z\n";

fn several(text: &str, weight: Option<&str>) -> ClassDataset {
    let options = ReadOptions::default()
        .with_several_classes()
        .with_weight(weight.map(str::to_owned))
        .with_ignore(if weight.is_some() { Vec::new() } else { vec!["w".into()] });
    match read_examples(&common::csv(text), &options).unwrap() {
        Examples::Several(data) => data,
        Examples::Two(data) => panic!("{data:?}"),
    }
}

/// A fit, its data and its options, as a file keeps them: the numbers are those of the fit.
#[test]
fn the_file_of_a_fit_has_its_numbers() {
    for (weight, total) in [(None, 12.0), (Some("w"), 12.5)] {
        let data = several(IRIS, weight);
        let fit = MulticlassProperLoss::default().fit(&data.sample().unwrap()).unwrap();
        let options = BTreeMap::from([("cv".to_owned(), json!(5))]);
        let file = ClassModelFile::of_fit(&fit, &data, options.clone());
        assert_eq!(file.weights.concat(), fit.coefficients);
        assert_eq!(file.weights.iter().map(Vec::len).collect::<Vec<_>>(), [2; 3]);
        assert_eq!(file.intercepts, fit.intercepts);
        assert_eq!(file.link, MixtureFile::from(&fit.link));
        assert_eq!((&file.classes, &file.feature_names), (&data.classes, &data.feature_names()));
        assert_eq!(file.classes, ["x", "y", "z"]);
        assert_eq!(file.preprocessing.encoder, data.encoder);
        assert_eq!(file.preprocessing.scaling, fit.scaling);
        let fitted = &file.fitted;
        assert_eq!((fitted.total_weight, &fitted.options), (Some(total), &options));
        assert_eq!((&fitted.data, fitted.method.as_str()), (&data.description, "proper"));
        assert_eq!(fitted.iterations, fit.passes.round() as u64);
        assert_eq!(fitted.program, format!("properloss {}", env!("CARGO_PKG_VERSION")));
        // It is whole, and classifies as the fit does.
        let json = file.to_json().unwrap();
        let again = ClassModelFile::from_json(json.as_bytes(), Path::new("m.json")).unwrap();
        assert_eq!(again, file);
        let scores = again.scores(&data.matrix().unwrap()).unwrap();
        assert_eq!(scores, fit.scores(&data.matrix().unwrap()).unwrap());
        let (p, q) =
            (again.apply_link(&scores).unwrap(), fit.probabilities(&data.matrix().unwrap()));
        assert_eq!(p, q.unwrap());
        assert_eq!(again.labelled_encoder().unwrap(), data.encoder);
    }
}

/// What cross-validation weighed and found of several classes, as the fit has it.
#[test]
fn what_was_learned_of_several_classes_is_in_the_file() {
    let data = several(IRIS, None);
    let fit = MulticlassProperLoss::default().fit(&data.sample().unwrap()).unwrap();
    let said = learned_of_classes(&fit);
    for (field, value) in [
        ("c", fit.c),
        ("tau", fit.tau()),
        ("log_loss_bound", fit.tau().ln()),
        ("refit_share", fit.refit_share),
        ("stack_share", fit.stack_share),
        ("ramp_share", fit.ramp_share),
        ("held_out_cost", fit.held_out_log_loss[3] - fit.held_out_log_loss[0]),
        ("link_gap", fit.link_gap),
    ] {
        assert_eq!(said[field], value, "{field}");
    }
    assert_eq!(said["held_out_log_loss"], json!(fit.held_out_log_loss));
    assert_eq!(said["path"].as_array().unwrap().len(), fit.path.len());
    for (said, point) in said["path"].as_array().unwrap().iter().zip(&fit.path) {
        let expected = json!({"c": point.c, "scale": point.scale, "log_loss": point.log_loss,
                              "score": point.score, "weight": point.weight});
        assert_eq!(said, &expected);
    }
    assert_eq!(said["ratios"].as_array().unwrap().len(), fit.ratios.len());
    for (said, point) in said["ratios"].as_array().unwrap().iter().zip(&fit.ratios) {
        let expected = json!({"tau": point.tau, "log_loss": point.log_loss,
                              "score": point.score, "weight": point.weight});
        assert_eq!(said, &expected);
    }
}

/// A model that was made of arrays has no label column; its classes are the labels.
#[test]
fn classes_are_the_labels_of_an_encoder_without_any() {
    let encoder = model().labelled_encoder().unwrap();
    let label = encoder.label.unwrap();
    assert_eq!(label.classes.several, ["cod", "eel", "ray"]);
    assert_eq!(label.column, None);
    assert_eq!(encoder.columns, model().preprocessing.encoder.columns);
    let two = ClassModelFile { classes: vec!["a".into(), "b".into()], ..model() };
    assert!(two.labelled_encoder().is_err());
}

/// Features have the names of the file; numbered columns, which no file names, those of the encoder.
#[test]
fn features_of_several_classes_have_names() {
    let mut file = model();
    assert_eq!([file.feature_name(0), file.feature_name(1)], ["x0", "x1"]);
    file.feature_names = vec!["first".into()];
    assert_eq!([file.feature_name(0), file.feature_name(1)], ["first", "x1"]);
    assert_eq!(file.feature_name(2), "");
    let text = "1 1:1 300000:5\n2 7:2\n3 400000:3\n1 300000:4\n2 7:1\n3 400000:2\n";
    let options = ReadOptions::default().with_several_classes();
    let found = read_examples(&Source::memory("h.svm", text.as_bytes()), &options).unwrap();
    let Examples::Several(data) = found else { panic!("three classes") };
    file.preprocessing.encoder = data.encoder.clone();
    file.feature_names = data.feature_names();
    assert_eq!([file.feature_name(1), file.feature_name(3)], ["x7", "x400000"]);
}

/// Every list of a file has the length of the classes or of the features, and finite numbers.
#[test]
fn lengths_and_numbers_of_several_classes_are_checked() {
    let told = |change: fn(&mut ClassModelFile)| {
        let mut file = model();
        change(&mut file);
        file.to_json().unwrap_err().to_string()
    };
    for (told, expected) in [
        (told(|m| m.intercepts[1] = f64::NAN), "model: intercepts[1]: NaN is not finite"),
        (told(|m| m.weights[2][0] = f64::INFINITY), "model: weights[2][0]: inf is not finite"),
        (told(|m| drop(m.weights.pop())), "model: weights: 2 values, but there are 3 classes"),
        (told(|m| m.link.floor.push(0.0)), "model: link.floor: 4 values, but there are 3 classes"),
        (told(|m| m.weights[0].push(1.0)), "model: weights[0]: 3 values, but there are 2 features"),
        (
            told(|m| {
                m.preprocessing.encoder.columns.clear();
                m.feature_names.clear();
            }),
            "model: feature_names: there are none",
        ),
        (
            told(|m| drop(m.fitted.options.insert("tol".into(), Value::Null))),
            "model: options.tol: it is null, or was not finite",
        ),
        (
            told(|m| {
                let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
                let classes = Classes::several(classes).unwrap();
                m.preprocessing.encoder.label =
                    Some(Label { column: None, classes, skip_others: false });
            }),
            "model: encoder.label: its values are not the classes of the model",
        ),
        (
            told(|m| m.classes = vec!["cod".into(); 3]),
            "model: classes[1]: \"cod\" again, as classes[0]",
        ),
    ] {
        assert_eq!(told, expected);
    }
}
