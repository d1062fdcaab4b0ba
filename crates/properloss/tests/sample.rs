//! A sample is checked once: what is refused, and what the refusal says.

use properloss::Error;
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};

const X: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn matrix() -> Matrix<'static> {
    Matrix::dense_f64(&X, 3, 2).unwrap()
}

#[test]
fn a_good_sample_reports_its_shape_and_base_rate() {
    let sample = Sample::new(matrix(), &[0, 1, 1], Some(&[1.0, 0.0, 3.0])).unwrap();
    assert_eq!((sample.rows(), sample.columns()), (3, 2));
    assert_eq!(sample.total_weight(), 4.0);
    assert_eq!(sample.base_rate(), 0.75);
    let unweighted = Sample::new(matrix(), &[0, 1, 1], None).unwrap();
    assert_eq!(unweighted.base_rate(), 2.0 / 3.0);
    assert_eq!(unweighted.weight(2), 1.0);
}

#[test]
fn shapes_must_agree() {
    let error = Matrix::dense_f32(&[0.0; 5], 3, 2).unwrap_err();
    assert_eq!(error, Error::MatrixShape { rows: 3, columns: 2, length: 5 });
    assert!(Matrix::dense_f32(&[], usize::MAX, 2).is_err(), "rows * columns overflows");
    let error = Sample::new(matrix(), &[0, 1], None).unwrap_err();
    assert_eq!(error.to_string(), "labels has 2 value(s), but rows has 3; they must agree");
    let error = Sample::new(matrix(), &[0, 1, 1], Some(&[1.0])).unwrap_err();
    assert_eq!(error.to_string(), "weights has 1 value(s), but rows has 3; they must agree");
}

#[test]
fn nothing_to_learn_from_is_refused() {
    let empty = Matrix::dense_f64(&[], 0, 2).unwrap();
    assert!(matches!(Sample::new(empty, &[], None), Err(Error::TooShort { what: "rows", .. })));
    let empty = Matrix::dense_f64(&[], 2, 0).unwrap();
    let error = Sample::new(empty, &[0, 1], None).unwrap_err();
    assert!(matches!(error, Error::TooShort { what: "columns", .. }));
    for label in [0, 1] {
        let error = Sample::new(matrix(), &[label; 3], None).unwrap_err();
        assert_eq!(error, Error::OneClass { label });
    }
    // A class whose rows all have weight 0 is not there.
    let error = Sample::new(matrix(), &[0, 1, 1], Some(&[0.0, 1.0, 1.0])).unwrap_err();
    assert_eq!(error, Error::OneClass { label: 1 });
}

#[test]
fn labels_and_weights_outside_their_domain_are_named() {
    let error = Sample::new(matrix(), &[0, 1, 2], None).unwrap_err();
    assert_eq!(error.to_string(), "labels[2] is 2; it must be 0 or 1");
    let error = Sample::new(matrix(), &[0, 1, 1], Some(&[1.0, -0.5, 1.0])).unwrap_err();
    assert!(error.to_string().starts_with("weights[1] is -0.5; it must be"), "{error}");
    let error = Sample::new(matrix(), &[0, 1, 1], Some(&[1.0, 1.0, f64::NAN])).unwrap_err();
    assert!(matches!(error, Error::NotFinite { what: "weights", index: 2, .. }));
    let error = Sample::new(matrix(), &[0, 1, 1], Some(&[0.0; 3])).unwrap_err();
    assert!(matches!(error, Error::OutOfDomain { value: 0.0, .. }), "{error}");
    let error = Sample::new(matrix(), &[0, 1, 1], Some(&[f64::MAX; 3])).unwrap_err();
    assert!(matches!(error, Error::OutOfDomain { .. }), "the sum overflows: {error}");
}

#[test]
fn other_weights_make_a_fold_without_a_copy() {
    let sample = Sample::new(matrix(), &[0, 1, 1], None).unwrap();
    let fold = sample.with_weights(Some(&[1.0, 1.0, 0.0])).unwrap();
    assert_eq!((fold.total_weight(), fold.base_rate()), (2.0, 0.5));
    assert!(sample.with_weights(Some(&[0.0, 1.0, 1.0])).is_err());
}

/// The check works on blocks of 32 in vectors and on long blocks in parallel: a bad value is found
/// wherever it stands, the first of several is named, and the largest finite values pass.
#[test]
fn a_bad_value_is_found_at_every_position() {
    let columns = 7;
    let labels = [0, 1].repeat(5_000);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for at in (0..75).chain([32_767, 32_768, 65_535, 69_998, 69_999]) {
            let mut values = vec![f32::MAX; 70_000];
            values[at] = bad;
            values[69_999] = f32::NAN;
            let matrix = Matrix::dense_f32(&values, 10_000, columns).unwrap();
            let error = Sample::new(matrix, &labels, None).unwrap_err();
            let Error::NotFiniteCell { row, column, value } = error else { panic!("{error}") };
            assert_eq!((row, column), (at / columns, at % columns));
            assert!(value == f64::from(bad) || value.is_nan());
        }
    }
    let values = vec![f64::MAX; 700];
    let matrix = Matrix::dense_f64(&values, 100, columns).unwrap();
    assert!(Sample::new(matrix, &labels[..100], None).is_ok());
}

#[test]
fn sparse_rows_are_checked_and_places_are_those_of_the_matrix() {
    let indices = [0, 2, 1, 0, 1];
    let csr = |offsets: &'static [i32], indices: &'static [i32], values| {
        Matrix::csr(Offsets::I32(offsets), Indices::I32(indices), Values::F64(values), 3)
    };
    assert_eq!(indices.len(), 5);
    let good: &[f64] = &[1.0; 5];
    // Rows: (0, 2), (), (1), (0, 1).
    assert!(csr(&[0, 2, 2, 3, 5], &[0, 2, 1, 0, 1], good).is_ok());
    let error = csr(&[0, 2, 2, 3, 5], &[0, 3, 1, 0, 1], good).unwrap_err();
    assert_eq!(error, Error::SparseColumn { row: 0, column: 3, columns: 3 });
    let error = csr(&[0, 2, 2, 3, 5], &[0, 2, 1, 1, 1], good).unwrap_err();
    assert_eq!(error, Error::SparseOrder { row: 3, column: 1 });
    assert!(csr(&[0, 2, 2, 3, 5], &[0, -1, 1, 0, 1], good).is_err(), "negative column");
    assert!(csr(&[1, 2, 2, 3, 5], &[0, 2, 1, 0, 1], good).is_err(), "starts after 0");
    assert!(csr(&[0, 2, 1, 3, 5], &[0, 2, 1, 0, 1], good).is_err(), "decreases");
    assert!(csr(&[0, 2, -2, 3, 5], &[0, 2, 1, 0, 1], good).is_err(), "negative offset");
    assert!(csr(&[0, 2, 2, 3, 4], &[0, 2, 1, 0, 1], good).is_err(), "ends early");
    assert!(csr(&[0, 2, 2, 3, 6], &[0, 2, 1, 0, 1], good).is_err(), "ends late");
    assert!(csr(&[], &[], &[]).is_err(), "no offsets");
    assert!(csr(&[0, 1], &[0], &[1.0, 2.0]).is_err(), "more values than columns");

    for (at, place) in [(0, (0, 0)), (1, (0, 2)), (2, (2, 1)), (3, (3, 0)), (4, (3, 1))] {
        let mut values = [1.0f32; 5];
        values[at] = f32::NAN;
        let matrix = Matrix::csr(
            Offsets::Usize(&[0, 2, 2, 3, 5]),
            Indices::U32(&[0, 2, 1, 0, 1]),
            Values::F32(&values),
            3,
        );
        let error = Sample::new(matrix.unwrap(), &[0, 1, 0, 1], None).unwrap_err();
        let Error::NotFiniteCell { row, column, .. } = error else { panic!("{error}") };
        assert_eq!((row, column), place);
    }
}
