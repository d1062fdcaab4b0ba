//! The links as programs: the operations that every target has, in place of `erf`, `atan`, `expm1`.
//!
//! Each gives `u` to a relative 1e-13 and follows the core's `u` at infinite scores; so does `1 - u`
//! of the named links, while that of a learned link is exact to 1e-16.

use properloss::link::{LinkSpec, registry};

use super::program::{Along, Pair, Program, Value};
use crate::error::{Error, Result};

/// `(x + 1) Q(x)/φ(x)` in powers of `s = (x - 5)/(x + 5)`, `x >= 0`
/// (`tests/fixtures/export_coefficients.py`).
const MILLS: [f64; 22] = [
    1.1568486282918942,
    -0.2294875382521184,
    0.07778159886881932,
    0.02507217930210036,
    -0.06617760078236147,
    0.061505045828185945,
    -0.03802659213490491,
    0.016348231425036042,
    -0.004201290736679096,
    1.9529678326371773e-05,
    0.00045704582520788656,
    -0.00013437036855802517,
    -2.481137046166861e-05,
    2.2699386557775844e-05,
    -1.6599786895713296e-07,
    -3.2597570878457124e-06,
    3.081417380856143e-07,
    4.724032706831338e-07,
    -5.6649464896762214e-08,
    -6.383575502421413e-08,
    5.2018319174602725e-09,
    5.5322922141146196e-09,
];

/// `atan(t)/t` in powers of `s`, `t² = (1 + s)/2 tan²(π/8)`, `0 <= t <= tan(π/8)`.
const ARC: [f64; 11] = [
    0.9727918173603545,
    -0.02590019545981344,
    0.001233591879009677,
    -6.980070655106961e-05,
    4.2965497345557515e-06,
    -2.780682332371894e-07,
    1.8605791764101425e-08,
    -1.274763532265778e-09,
    8.891270188173502e-11,
    -6.378717510585393e-12,
    4.56844111608607e-13,
];

/// `tan²(π/8) = 3 - 2√2`.
const TAN_SQUARED: f64 = 0.1715728752538099;

/// Adds `u(z)` and `1 - u(z)` to the program.
pub(crate) fn link(program: &mut Program, spec: &LinkSpec, z: Value) -> Result<Pair> {
    match spec {
        LinkSpec::Builtin { name, params } => builtin(program, name, params, z),
        LinkSpec::Piecewise { z: x, u } | LinkSpec::Isotonic { z: x, u } => {
            Ok(piecewise(program, x, u, z))
        }
        LinkSpec::Relative { base, p, v } => {
            let along = Along { score: z, u: (**base).clone() };
            let base = link(program, base, z)?;
            Ok(relative(program, base, p, v, along))
        }
        #[allow(unreachable_patterns)] // A link that is added later.
        other => Err(unknown(other)),
    }
}

fn unknown(spec: &LinkSpec) -> Error {
    Error::BadOption {
        what: "the link",
        value: spec.name(),
        expected: "one that can be exported: a registered, piecewise, isotonic or relative link"
            .into(),
    }
}

fn builtin(program: &mut Program, name: &str, params: &[f64], z: Value) -> Result<Pair> {
    let defaults: Vec<f64> = registry()
        .iter()
        .filter(|entry| entry.name == name)
        .flat_map(|entry| entry.parameters.iter().map(|parameter| parameter.default))
        .collect();
    let params = if params.is_empty() { &defaults[..] } else { params };
    Ok(match (name, params) {
        ("sigmoid", _) => sigmoid(program, z),
        ("clipped-line", &[a, b]) => clipped_line(program, a, b, z),
        ("matsushita", _) => matsushita(program, z),
        ("probit", _) => probit(program, z),
        ("cauchy", _) => cauchy(program, z),
        ("cloglog", _) => cloglog(program, z),
        ("loglog", _) => {
            let mirrored = program.negative(z);
            let Pair { p, q } = cloglog(program, mirrored);
            Pair { p: q, q: p }
        }
        _ => return Err(unknown(&LinkSpec::builtin(name))),
    })
}

/// `u = tail` left of 0 and `1 - tail` right of it.
fn symmetric(program: &mut Program, z: Value, tail: Value, rest: Value) -> Pair {
    let zero = program.constant(0.0);
    let p = program.select(z, zero, tail, rest);
    let q = program.select(z, zero, rest, tail);
    Pair { p, q }
}

fn one_minus(program: &mut Program, a: Value) -> Value {
    let one = program.constant(1.0);
    program.sub(one, a)
}

// u = 1/(1 + e^{-z}) and 1 - u = e^{-z}/(1 + e^{-z}), both without cancellation. The largest exponent does
// not overflow, and brings u below the least normal number.
fn sigmoid(program: &mut Program, z: Value) -> Pair {
    let exponent = program.negative(z);
    let exponent = program.least(exponent, 708.5);
    let e = program.exp(exponent);
    let one = program.constant(1.0);
    let sum = program.add(one, e);
    let p = program.div(one, sum);
    let q = program.div(e, sum);
    Pair { p, q }
}

fn clipped_line(program: &mut Program, a: f64, b: f64, z: Value) -> Pair {
    let slope = program.constant(a);
    let product = program.mul(slope, z);
    let shift = program.constant(b);
    let line = program.add(product, shift);
    let p = program.clamp(line, 0.0, 1.0);
    let q = one_minus(program, p);
    Pair { p, q }
}

/// `|z|` and `√(1 + z²)`, which is `|z|` where the square would overflow.
fn hypotenuse(program: &mut Program, z: Value) -> (Value, Value) {
    let distance = program.absolute(z);
    let near = program.least(distance, 1e100);
    let square = program.mul(near, near);
    let one = program.constant(1.0);
    let sum = program.add(one, square);
    let root = program.sqrt(sum);
    (distance, program.largest(root, distance))
}

// tail = 1/(2 h (h + |z|)), h = √(1 + z²).
fn matsushita(program: &mut Program, z: Value) -> Pair {
    let (distance, h) = hypotenuse(program, z);
    let half = program.constant(0.5);
    let tail = program.div(half, h);
    let sum = program.add(h, distance);
    let tail = program.div(tail, sum);
    let rest = one_minus(program, tail);
    symmetric(program, z, tail, rest)
}

// tail = atan(1/|z|)/π; the tangent of half that angle is 1/(|z| + h), and of a quarter
// t/(1 + √(1 + t²)), which is at most tan(π/8).
fn cauchy(program: &mut Program, z: Value) -> Pair {
    let (distance, h) = hypotenuse(program, z);
    let one = program.constant(1.0);
    let sum = program.add(h, distance);
    let half = program.div(one, sum);
    let square = program.mul(half, half);
    let sum = program.add(one, square);
    let root = program.sqrt(sum);
    let sum = program.add(one, root);
    let quarter = program.div(half, sum);
    let square = program.mul(quarter, quarter);
    let scale = program.constant(2.0 / TAN_SQUARED);
    let s = program.mul(square, scale);
    let s = program.sub(s, one);
    let arc = program.polynomial(&ARC, s);
    let angle = program.mul(quarter, arc);
    let turns = program.constant(4.0 * std::f64::consts::FRAC_1_PI);
    let tail = program.mul(angle, turns);
    let rest = one_minus(program, tail);
    symmetric(program, z, tail, rest)
}

// tail = φ(x) R(x), x = |z|, R the Mills ratio; beyond x = 40 it is 0 in f64.
fn probit(program: &mut Program, z: Value) -> Pair {
    let distance = program.absolute(z);
    let x = program.least(distance, 40.0);
    let five = program.constant(5.0);
    let below = program.sub(x, five);
    let above = program.add(x, five);
    let s = program.div(below, above);
    let mills = program.polynomial(&MILLS, s);
    let square = program.mul(x, x);
    let half = program.constant(-0.5);
    let exponent = program.mul(half, square);
    let e = program.exp(exponent);
    let scale = program.constant(0.3989422804014327); // 1/√(2π)
    let density = program.mul(scale, e);
    let tail = program.mul(density, mills);
    let one = program.constant(1.0);
    let sum = program.add(x, one);
    let tail = program.div(tail, sum);
    let rest = one_minus(program, tail);
    symmetric(program, z, tail, rest)
}

// With t = e^z, y = e^{-t}: 1 - y cancels where t is small; (1 - y) t / -ln y does not (Kahan), since
// the rounding error of y is in both. From z = 7 on, y is 0 in f64.
fn cloglog(program: &mut Program, z: Value) -> Pair {
    let near = program.least(z, 7.0);
    let t = program.exp(near);
    let minus = program.negative(t);
    let y = program.exp(minus);
    let one = program.constant(1.0);
    let least = program.constant(1e-300);
    let positive = program.largest(y, least);
    let logarithm = program.ln(positive);
    let logarithm = program.negative(logarithm);
    let divisor = program.select(y, one, logarithm, one);
    let ratio = program.div(t, divisor);
    let difference = program.sub(one, y);
    let product = program.mul(difference, ratio);
    let small = program.select(y, one, product, t);
    let middle = program.constant(0.6);
    let p = program.select(y, middle, difference, small);
    Pair { p, q: y }
}

// 1 - p: a learned link rarely nears 1, and lines of its own for 1 - u would double the lookups.
fn piecewise(program: &mut Program, x: &[f64], u: &[f64], z: Value) -> Pair {
    let z = program.clamp(z, x[0], x[x.len() - 1]);
    let p = program.interpolate(z, x, u);
    let q = one_minus(program, p);
    Pair { p, q }
}

fn relative(program: &mut Program, base: Pair, x: &[f64], v: &[f64], along: Along) -> Pair {
    let p = program.interpolate_along(base.p, x, v, along);
    let q = one_minus(program, p);
    Pair { p, q }
}

#[cfg(test)]
mod tests {
    use super::super::program::{Binary, Op, Unary, slopes};
    use super::*;

    /// Carries out a program as a runtime would: every step, whether it is chosen or not.
    fn run(program: &Program, z: f64) -> Vec<f64> {
        let mut found: Vec<f64> = Vec::new();
        for op in program.ops() {
            let at = |value: &Value| found[value.0];
            found.push(match op {
                Op::Score => z,
                Op::Given(name) => panic!("{name} is not given"),
                Op::Constant(value) => *value,
                Op::Unary(Unary::Negative, a) => -at(a),
                Op::Unary(Unary::Absolute, a) => at(a).abs(),
                Op::Unary(Unary::Exponential, a) => {
                    assert!(at(a) < 709.0, "e^{} at {z}", at(a));
                    at(a).exp()
                }
                Op::Unary(Unary::Logarithm, a) => {
                    assert!(at(a) > 0.0, "ln {} at {z}", at(a));
                    at(a).ln()
                }
                Op::Unary(Unary::Root, a) => at(a).sqrt(),
                Op::Binary(Binary::Add, a, b) => at(a) + at(b),
                Op::Binary(Binary::Subtract, a, b) => at(a) - at(b),
                Op::Binary(Binary::Multiply, a, b) => at(a) * at(b),
                Op::Binary(Binary::Divide, a, b) => {
                    assert!(at(b) != 0.0, "a division by 0 at {z}");
                    at(a) / at(b)
                }
                Op::Binary(Binary::Least, a, b) => at(a).min(at(b)),
                Op::Binary(Binary::Largest, a, b) => at(a).max(at(b)),
                Op::Select { left, right, then, other } => {
                    if at(left) < at(right) {
                        at(then)
                    } else {
                        at(other)
                    }
                }
                Op::Interpolate { at: place, x, y, .. } => {
                    let place = at(place);
                    let k = x.partition_point(|&x| x <= place).clamp(1, x.len() - 1) - 1;
                    (y[k] + slopes(x, y)[k] * (place - x[k])).min(y[k + 1])
                }
            });
        }
        found
    }

    fn specs() -> Vec<LinkSpec> {
        let mut specs = Vec::new();
        for entry in registry() {
            specs.push(LinkSpec::builtin(entry.name));
            for params in entry.examples {
                specs.push(LinkSpec::Builtin { name: entry.name.into(), params: params.to_vec() });
            }
        }
        let (x, y) = (vec![-5.0, -1.0, -0.9, 3.0, 8.0], vec![0.0, 0.01, 0.6, 0.9, 1.0]);
        for base in specs.clone() {
            let (p, v) = (vec![0.0, 0.2, 0.7, 1.0], vec![0.05, 0.1, 0.8, 0.99]);
            specs.push(LinkSpec::Relative { base: Box::new(base), p, v });
        }
        let flat = vec![0.0, 0.3, 0.3, 0.9, 1.0];
        specs.push(LinkSpec::Isotonic { z: x.clone(), u: flat });
        specs.push(LinkSpec::Piecewise { z: x, u: y });
        specs
    }

    #[test]
    fn every_link_and_its_complement_are_the_core_s() {
        for spec in specs() {
            let core = spec.build().unwrap();
            let mut program = Program::default();
            let z = program.score();
            let pair = link(&mut program, &spec, z).unwrap();
            let mut scores: Vec<f64> = (-8000..=8000).map(|k| f64::from(k) * 0.01).collect();
            scores.extend((-320..309).flat_map(|e| {
                let size = 10f64.powi(e);
                [size, -size]
            }));
            scores.extend([f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0]);
            // a z + b cancels where the line crosses 0; the core rounds it once, a program twice.
            let line = spec.name().ends_with("clipped-line");
            for z in scores {
                let found = run(&program, z);
                let (p, q) = (found[pair.p.0], found[pair.q.0]);
                let exact = if line { 1e-14 } else { 1e-300 };
                let learned = !matches!(spec, LinkSpec::Builtin { .. });
                let rough = if learned { 2e-15 } else { exact };
                for (ours, theirs, bound) in
                    [(core.u(z), p, exact), (core.one_minus_u(z), q, rough)]
                {
                    let close = (ours - theirs).abs() <= 5e-13 * ours + bound;
                    assert!(close, "{} at {z}: {ours:e} and {theirs:e}", spec.name());
                }
            }
        }
    }

    #[test]
    fn a_link_without_a_name_is_refused() {
        let mut program = Program::default();
        let z = program.score();
        let error = link(&mut program, &LinkSpec::builtin("custom"), z).unwrap_err();
        assert!(error.to_string().starts_with("the link is custom; it must be"), "{error}");
    }
}
