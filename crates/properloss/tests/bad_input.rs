//! Every constructor answers bad input with a typed error that names the place and the value.

use std::sync::Arc;

use properloss::Error;
use properloss::bregman::{conjugate_information, information};
use properloss::link::{
    ClippedLine, InverseLink, LinkSpec, PiecewiseLink, RelativeLink, Sigmoid, by_name, registry,
};
use properloss::loss::CanonicalLoss;
use properloss::piecewise::PiecewiseAffine;
use proptest::prelude::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Knots, and what is wrong with them: column, index and value.
type BadKnots = (Vec<f64>, Vec<f64>, &'static str, usize, f64);

fn bad_knots() -> Vec<BadKnots> {
    vec![
        (vec![0.0, NAN, 2.0], vec![0.0, 0.5, 1.0], "x", 1, NAN),
        (vec![0.0, 1.0, INF], vec![0.0, 0.5, 1.0], "x", 2, INF),
        (vec![-INF, 1.0, 2.0], vec![0.0, 0.5, 1.0], "x", 0, -INF),
        (vec![0.0, 1.0, 2.0], vec![0.0, NAN, 1.0], "y", 1, NAN),
        (vec![0.0, 1.0, 2.0], vec![0.0, 0.5, INF], "y", 2, INF),
        (vec![0.0, 1.0, 1.0], vec![0.0, 0.5, 1.0], "x", 2, 1.0),
        (vec![0.0, 1.0, 0.5], vec![0.0, 0.5, 1.0], "x", 2, 0.5),
        (vec![0.0, 1.0, 2.0], vec![0.0, 0.0, 1.0], "y", 1, 0.0),
        (vec![0.0, 1.0, 2.0], vec![0.0, -0.5, 1.0], "y", 1, -0.5),
        (vec![-1e308, 0.0, 1e308], vec![0.0, 0.5, 1.0], "x", 2, 1e308),
    ]
}

/// The place and the value an error names.
fn named(error: &Error) -> (&'static str, usize, f64) {
    match *error {
        Error::NotFinite { what, index, value }
        | Error::NotIncreasing { what, index, value, .. }
        | Error::ElementOutOfDomain { what, index, value, .. } => (what, index, value),
        ref other => panic!("not an error of a place: {other}"),
    }
}

fn assert_named(error: &Error, what: &str, index: usize, value: f64) {
    let (w, i, v) = named(error);
    assert_eq!((w, i), (what, index), "{error}");
    assert!(v == value || v.is_nan() && value.is_nan(), "{error}");
    // The message says it too.
    let message = error.to_string();
    assert!(message.contains(&format!("{what}[{index}] is")), "{message}");
}

#[test]
fn knots() {
    for (x, y, what, index, value) in bad_knots() {
        let error = PiecewiseAffine::new(x.clone(), y.clone()).unwrap_err();
        assert_named(&error, what, index, value);
        let error = PiecewiseLink::from_knots(x.clone(), y.clone()).unwrap_err();
        assert_named(&error, what, index, value);
        let spec = LinkSpec::Piecewise { z: x.clone(), u: y.clone() };
        assert_named(&spec.build().unwrap_err(), what, index, value);
        let base = Box::new(LinkSpec::builtin("sigmoid"));
        let spec = LinkSpec::Relative { base, p: x, v: y };
        assert_named(&spec.build().unwrap_err(), what, index, value);
    }
    for length in [0, 1] {
        let (x, y) = (vec![0.0; length], vec![0.0; length]);
        let expected = Error::TooShort { what: "x", length, minimum: 2 };
        assert_eq!(PiecewiseAffine::new(x.clone(), y.clone()).unwrap_err(), expected);
        assert_eq!(PiecewiseLink::from_knots(x.clone(), y.clone()).unwrap_err(), expected);
        assert_eq!(LinkSpec::Piecewise { z: x, u: y }.build().unwrap_err(), expected);
    }
    let error = PiecewiseAffine::new(vec![0.0, 1.0], vec![0.0]).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { length: 2, other_length: 1, .. }));
}

#[test]
fn probabilities_of_a_link() {
    let cases = [
        (vec![0.1, 1.0], 0, 0.1),
        (vec![-0.1, 1.0], 0, -0.1),
        (vec![0.0, 0.9], 1, 0.9),
        (vec![0.0, 1.5], 1, 1.5),
    ];
    for (u, index, value) in cases {
        let error = PiecewiseLink::from_knots(vec![0.0, 1.0], u).unwrap_err();
        assert_named(&error, "u", index, value);
    }
    let relative = |p: Vec<f64>, v: Vec<f64>| {
        RelativeLink::new(Arc::new(Sigmoid), PiecewiseAffine::new(p, v).unwrap()).unwrap_err()
    };
    assert_named(&relative(vec![0.1, 1.0], vec![0.0, 1.0]), "p", 0, 0.1);
    assert_named(&relative(vec![0.0, 1.1], vec![0.0, 1.0]), "p", 1, 1.1);
    assert_named(&relative(vec![0.0, 1.0], vec![-0.2, 1.0]), "v", 0, -0.2);
    assert_named(&relative(vec![0.0, 1.0], vec![0.0, 1.2]), "v", 1, 1.2);
}

#[test]
fn parameters_and_names() {
    for a in [0.0, -1.0, NAN, INF, 1e-320] {
        let error = ClippedLine::new(a, 0.5).unwrap_err();
        assert!(matches!(error, Error::OutOfDomain { what: "a", .. }), "{error}");
        assert!(by_name("clipped-line", &[a, 0.5]).is_err());
    }
    for b in [NAN, INF, -INF] {
        let error = ClippedLine::new(1.0, b).unwrap_err();
        assert!(matches!(error, Error::OutOfDomain { what: "b", .. }), "{error}");
    }
    for (low, high) in [(0.0, 0.0), (1.0, 0.0), (NAN, 1.0), (0.0, INF), (-1e308, 1e308)] {
        let error = ClippedLine::between(low, high).unwrap_err();
        assert!(matches!(error, Error::OutOfDomain { what: "z_max", .. }), "{error}");
    }
    let error = by_name("logit", &[]).unwrap_err();
    assert!(error.to_string().contains("sigmoid, clipped-line"), "{error}");
    for entry in registry() {
        let error = entry.build(&[1.0; 7]).unwrap_err();
        assert!(matches!(error, Error::ParameterCount { given: 7, .. }), "{error}");
        assert!(entry.build(&[]).is_ok());
    }
    assert!(LinkSpec::builtin("custom").build().is_err());
}

#[test]
fn samples_of_bregman_information() {
    let link: Arc<dyn InverseLink> = Arc::new(Sigmoid);
    assert!(matches!(information(&*link, &[], None), Err(Error::TooShort { length: 0, .. })));
    let error = information(&*link, &[0.0, NAN], None).unwrap_err();
    assert_named(&error, "scores", 1, NAN);
    let error = conjugate_information(&*link, &[0.5, 1.5], None).unwrap_err();
    assert_named(&error, "probabilities", 1, 1.5);
    for bad in [-1.0, NAN, INF] {
        let error = information(&*link, &[0.0, 1.0], Some(&[1.0, bad])).unwrap_err();
        assert_named(&error, "weights", 1, bad);
    }
    let error = information(&*link, &[0.0, 1.0], Some(&[1.0])).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { .. }));
    let error = information(&*link, &[0.0, 1.0], Some(&[0.0, 0.0])).unwrap_err();
    assert!(matches!(error, Error::OutOfDomain { .. }));
}

/// Any f64 whatever, often a special one.
fn wild() -> impl Strategy<Value = f64> {
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, NAN, INF, -INF, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::MIN];
    prop_oneof![any::<f64>(), prop::sample::select(special.to_vec()), -10.0..10.0f64]
}

proptest! {
    /// Nothing panics, whatever comes in: constructors, and every function of what they let through.
    #[test]
    fn nothing_panics(
        x in prop::collection::vec(wild(), 0..6),
        y in prop::collection::vec(wild(), 0..6),
        mut sorted in prop::collection::vec(wild(), 2..6),
        params in prop::collection::vec(wild(), 0..3),
        at in wild(),
        other in wild(),
    ) {
        let _ = PiecewiseAffine::new(x.clone(), y.clone());
        let _ = LinkSpec::Relative { base: Box::new(LinkSpec::builtin("probit")), p: x, v: y }.build();
        let mut links: Vec<Arc<dyn InverseLink>> = Vec::new();
        for entry in registry() {
            links.extend(entry.build(&params));
        }
        sorted.sort_by(f64::total_cmp);
        let u: Vec<f64> = (0..sorted.len()).map(|i| i as f64 / (sorted.len() - 1) as f64).collect();
        if let Ok(link) = PiecewiseLink::from_knots(sorted, u) {
            let _ = link.knots().simplify_to_error(0.1);
            let _ = link.knots().integral(at, other);
            links.push(Arc::new(link));
        }
        for link in &links {
            let _ = (link.u(at), link.derivative(at), link.one_minus_u(at), link.potential(at));
            let _ = (link.upper_potential(at), link.u_inverse(at), link.u_inverse_of_complement(at));
            let _ = (link.conjugate(at), link.divergence(at, other), link.conjugate_divergence(at, other));
            if let Ok(loss) = CanonicalLoss::new(link.clone()) {
                let _ = (loss.loss(at, other), loss.gradient(at, other), loss.partial_loss(at, other));
                let _ = (loss.weight(at), loss.conditional_risk(at, other), loss.symmetry());
            }
        }
    }
}
