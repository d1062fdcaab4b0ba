//! The data set that comes with the repository.

mod common;

use std::path::Path;

use common::rows;
use properloss_data::{ReadOptions, Source, read};

#[test]
fn breast_cancer_is_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/breast_cancer.csv");
    let data = read(&Source::Path(path), &ReadOptions::default()).unwrap();
    assert_eq!((data.rows(), data.columns(), data.positives()), (569, 30, 212));
    assert_eq!(data.classes, ["benign", "malignant"]);
    assert_eq!(data.feature_names()[0], "mean_radius");
    let rows = rows(&data.features);
    // The least and largest values of the source's description.
    let range = |j: usize| {
        rows.iter().fold((f64::MAX, f64::MIN), |(a, b), row| (a.min(row[j]), b.max(row[j])))
    };
    assert_eq!((range(0), range(3), range(23)), ((6.981, 28.11), (143.5, 2501.0), (185.2, 4254.0)));
    assert_eq!(rows[0][..3], [17.99, 10.38, 122.8]);
}
