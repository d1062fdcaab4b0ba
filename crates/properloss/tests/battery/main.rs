//! What holds for every link: the registered ones (with all their example parameters), random
//! piecewise-affine links and random links relative to a registered one. A link that is added to the
//! registry runs all of this by being there.

mod divergences;
mod functions;
mod losses;

use std::sync::Arc;

use properloss::link::{InverseLink, LinkSpec, PiecewiseLink, RelativeLink, registry};
use properloss::piecewise::PiecewiseAffine;
use proptest::prelude::*;

/// The spacing of f64 at 1.
pub const EPS: f64 = f64::EPSILON;

/// Any link.
pub type Link = Arc<dyn InverseLink>;

/// Cases a property, from `PROPERLOSS_PROFILE`.
pub fn config() -> ProptestConfig {
    let cases = match std::env::var("PROPERLOSS_PROFILE").as_deref() {
        Ok("fuzz") => 20_000,
        Ok("full") => 4_000,
        _ => 400,
    };
    ProptestConfig { cases, max_global_rejects: 100_000, ..ProptestConfig::default() }
}

/// Every registered link with its defaults and its example parameters.
pub fn registered() -> Vec<Link> {
    let mut links = Vec::new();
    for entry in registry() {
        links.push(entry.build(&[]).unwrap());
        links.extend(entry.examples.iter().map(|params| entry.build(params).unwrap()));
    }
    links
}

/// Strictly increasing from 0 to 1, by normalised positive steps spread over some decades.
fn increasing(steps: usize, decades: f64) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-decades..0.0f64, steps).prop_map(|exponents| {
        let steps: Vec<f64> = exponents.iter().map(|e| 10f64.powf(*e)).collect();
        let total: f64 = steps.iter().sum();
        let mut values = vec![0.0];
        let mut sum = 0.0;
        for step in &steps[..steps.len() - 1] {
            sum += step;
            values.push(sum / total);
        }
        values.push(1.0);
        values
    })
}

/// Learned links: up to 200 pieces, slopes over eight decades.
pub fn piecewise() -> impl Strategy<Value = Link> {
    (1usize..200)
        .prop_flat_map(|pieces| {
            (increasing(pieces, 4.0), increasing(pieces, 4.0), -20.0..5.0f64, 0.1..30.0)
        })
        .prop_filter_map("knots too near one another", |(z, u, start, width)| {
            let z: Vec<f64> = z.iter().map(|z| start + width * z).collect();
            Some(Arc::new(PiecewiseLink::from_knots(z, u).ok()?) as Link)
        })
}

/// `v ∘ base` for a registered base; half of them from 0 to 1, half with a floor and a ceiling.
pub fn relative() -> impl Strategy<Value = Link> {
    let ends = prop_oneof![Just((0.0, 1.0)), (0.0..0.2f64, 0.8..1.0f64)];
    (0..registered().len(), 1usize..20, ends)
        .prop_flat_map(|(base, pieces, ends)| {
            (Just(base), increasing(pieces, 1.0), increasing(pieces, 1.0), Just(ends))
        })
        .prop_filter_map("knots too near one another", |(base, p, v, (low, high))| {
            let top = v.len() - 1;
            let mut v: Vec<f64> = v.iter().map(|v| low + (high - low) * v).collect();
            v[top] = high;
            let v = PiecewiseAffine::new(p, v).ok()?;
            Some(Arc::new(RelativeLink::new(registered()[base].clone(), v).ok()?) as Link)
        })
}

/// Every kind of link.
pub fn any_link() -> impl Strategy<Value = Link> {
    let registered = registered();
    prop_oneof![
        3 => (0..registered.len()).prop_map(move |i| registered[i].clone()),
        1 => piecewise(),
        1 => relative(),
    ]
}

/// Links with a canonical loss.
pub fn bounded_link() -> impl Strategy<Value = Link> {
    any_link().prop_filter("has a canonical loss", |link| {
        link.conjugate(0.0).is_finite() && link.conjugate(1.0).is_finite()
    })
}

/// A probability: anywhere, or towards 0 or 1 on a logarithmic scale.
pub fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => 0.001..0.999f64,
        1 => (-8.0..0.0f64).prop_map(|e| 0.5 * 10f64.powf(e)),
        1 => (-8.0..0.0f64).prop_map(|e| 1.0 - 0.5 * 10f64.powf(e)),
    ]
}

/// The range of `u`: all of `[0, 1]` but for relative links with a floor and a ceiling.
pub fn range(link: &Link) -> (f64, f64) {
    match link.spec() {
        LinkSpec::Relative { v, .. } => (v[0], v[v.len() - 1]),
        _ => (0.0, 1.0),
    }
}

/// The score at which `u` has come a fraction `share` of its way.
pub fn score(link: &Link, share: f64) -> f64 {
    let (low, high) = range(link);
    if high == 1.0 && share > 0.5 {
        return link.u_inverse_of_complement((1.0 - share) * (high - low));
    }
    link.u_inverse(low + share * (high - low))
}

/// Asserts `|left - right| <= tolerance` and says by how much it fails.
#[macro_export]
macro_rules! near {
    ($left:expr, $right:expr, $tolerance:expr, $($context:tt)*) => {{
        let (left, right, tolerance): (f64, f64, f64) = ($left, $right, $tolerance);
        proptest::prop_assert!(
            (left - right).abs() <= tolerance || left == right,
            "{left:e} against {right:e}: off by {:e}, allowed {tolerance:e}; {}",
            (left - right).abs(),
            format!($($context)*)
        );
    }};
}
