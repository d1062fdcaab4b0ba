//! Every built-in link against values computed with 450 digits (`tests/reference/links.py`).

use std::collections::BTreeMap;
use std::sync::Arc;

use properloss::link::{InverseLink, by_name};

/// Relative errors allowed. The functions themselves: exp, ln, tan, ... of the system library are
/// good to 1 ulp (1.1e-16 .. 2.2e-16), a handful of them and of roundings make up to 20 of those.
const FUNCTION: f64 = 1e-14;
/// Divergences: beyond the quadrature radius a difference that keeps at least 1/50 of its terms; dual
/// ones add the rounding of u⁻¹ (eps |z|) against a difference of scores of the order of |z|/30.
const DIVERGENCE: f64 = 1e-12;

fn link(name: &str) -> Arc<dyn InverseLink> {
    let params: &[f64] = if name == "clipped-line" { &[0.3, 0.7] } else { &[] };
    by_name(name, params).unwrap()
}

#[test]
fn links_agree_with_the_reference() {
    let mut worst: BTreeMap<(String, String), (f64, String)> = BTreeMap::new();
    for line in include_str!("reference/links.csv").lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let (name, function, a, b, expected) =
            (fields[0], fields[1], number(2), number(3), number(4));
        let link = link(name);
        let value = match function {
            "u" => link.u(a),
            "complement" => link.one_minus_u(a),
            "derivative" => link.derivative(a),
            "potential" => link.potential(a),
            "upper" => link.upper_potential(a),
            "inverse" => link.u_inverse(a),
            "inverse-of-complement" => link.u_inverse_of_complement(a),
            "conjugate" => link.conjugate(a),
            "divergence" => link.divergence(a, b),
            "dual" => link.conjugate_divergence(a, b),
            other => panic!("unknown function {other}"),
        };
        let error = ((value - expected) / expected).abs();
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let entry = worst.entry((name.to_string(), function.to_string())).or_default();
        if error >= entry.0 {
            *entry = (error, format!("{line} computed {value:e}"));
        }
    }
    let mut failures = Vec::new();
    for ((name, function), (error, line)) in &worst {
        println!("{name:13} {function:11} {error:9.2e}   {line}");
        let allowed = match function.as_str() {
            "divergence" | "dual" => DIVERGENCE,
            _ => FUNCTION,
        };
        if *error > allowed {
            failures.push(format!("{name} {function}: {error:e} > {allowed:e} at {line}"));
        }
    }
    assert!(worst.len() > 60, "the table was read");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
