//! Model files of several classes: written and read again, and refused with the field that is wrong.

mod common;

use std::path::Path;

use properloss::design::FittedScaling;
use properloss::link::vector::{ClassRamp, Mixture, Ramp, VectorLink};
use properloss_data::model_file::{ClassModelFile, Fitted, MixtureFile, Preprocessing};
use properloss_data::{Encoder, ModelFile};
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
