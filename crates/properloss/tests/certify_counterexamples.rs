//! The paper's convergence theorem (Theorem 5 of the PDF) and its corollary (Corollary 6), refuted in
//! exact rational arithmetic.
//!
//! Every instance: places `x = ±1`, so `X = 1`; `n = N = 1` at every step; `u_t(z) = clip(z + b)`,
//! `w_t = 0`, `γ_t = 0`. A regime `δ` is any number with `|g|² >= 4 p* δ X²`, not only the largest:
//! with a rational `δ` the step `η = (1 - f(1+f) p*/|g|)/2` and `p* = b + η g E[x]` are a linear
//! system, so every quantity of the theorem is rational and nothing is rounded.

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

type Q = BigRational;

fn q(numerator: i64, denominator: i64) -> Q {
    Q::new(numerator.into(), denominator.into())
}

/// `negatives` and `positives` at `x`.
struct Place {
    x: i64,
    negatives: i64,
    positives: i64,
}

struct Instance {
    places: [Place; 2],
    b: Q,
    delta: Q,
}

/// One iteration of the paper's algorithm, exactly.
struct Iteration {
    f: Q,
    /// The plain Step 3 is stable: `α, β <= f(δ)`.
    stable: bool,
    /// `ŷ_1/q_1 - 1` of the plain Step 3.
    alpha: Q,
    /// `p* f(δ)/n`.
    claimed: Q,
    /// With the plain Step 3 (Theorem 5).
    observed: Q,
    /// With Step 3 under `ŷ_1 ∈ q_1 [1-f, 1+f]` (Corollary 6).
    observed_constrained: Q,
}

impl Instance {
    fn mean(&self, value: impl Fn(&Q, &Q) -> Q) -> Q {
        let mut total = Q::zero();
        let mut sum = Q::zero();
        for place in &self.places {
            let x = q(place.x, 1);
            sum += q(place.negatives, 1) * value(&x, &Q::zero());
            sum += q(place.positives, 1) * value(&x, &Q::one());
            total += q(place.negatives + place.positives, 1);
        }
        sum / total
    }

    fn iterate(&self) -> Iteration {
        let (b, delta) = (&self.b, &self.delta);
        let g = self.mean(|x, y| (y - b) * x);
        let mean_x = self.mean(|x, _| x.clone());
        let f = delta / (Q::one() + delta);
        // p* = b + η g E[x], η = (1 - k p*)/2, k = f(1+f)/|g|.
        let k = &f * (Q::one() + &f) / g.abs();
        let half = q(1, 2);
        let p_star = (b + &half * &g * &mean_x) / (Q::one() + &half * &k * &g * &mean_x);
        let eta = &half * (Q::one() - &k * &p_star);
        let w = &eta * &g;
        // Every hypothesis of Theorem 5.
        assert_eq!(p_star, b + &w * &mean_x, "p* = E[u_t(w_{{t+1}} x)]");
        assert!(p_star > self.mean(|_, y| y.clone()), "the maximum in p*");
        assert!(&g * &g >= q(4, 1) * &p_star * delta, "the δ-regime");
        assert!(eta.is_positive() && w.is_positive());
        let (q_1, q_m) = (b - &w, b + &w);
        assert!(q_1.is_positive() && q_m <= Q::one(), "scores in range");
        // Step 3. With slope 1 everywhere D_{U*}(a ‖ b) = (a-b)²/2 and ŷ = q + shift; the mean of
        // (q + shift - b)² is least where E[ŷ] = b; ŷ_m <= 1 and ŷ_1 >= 0 cut the shift off.
        let wanted = -(&w * &mean_x);
        let plain = wanted.min(Q::one() - &q_m).max(-q_1.clone());
        let window = &f * &q_1;
        let constrained = plain.clone().min(window.clone()).max(-window);
        let loss = |shift: &Q, w: &Q| {
            self.mean(|x, y| {
                let u = b + w * x + shift;
                let miss = y - u;
                &half * &miss * &miss
            })
        };
        let before = loss(&Q::zero(), &Q::zero());
        let alpha = &plain / &q_1;
        Iteration {
            stable: alpha.abs() <= f,
            alpha,
            claimed: &p_star * &f,
            observed: &before - loss(&plain, &w),
            observed_constrained: &before - loss(&constrained, &w),
            f,
        }
    }
}

fn near(value: &Q, expected: f64) {
    let value = value.to_f64().unwrap();
    assert!((value - expected).abs() <= 5e-7, "{value} is not {expected}");
}

fn instance(right: (i64, i64), left: (i64, i64), b: Q, delta: Q) -> Instance {
    let places = [
        Place { x: 1, negatives: right.0, positives: right.1 },
        Place { x: -1, negatives: left.0, positives: left.1 },
    ];
    Instance { places, b, delta }
}

/// The plain Step 3 is stable, and the decrease below the claim; the constraint of Corollary 6 is not
/// active.
fn breaks_theorem_5(instance: &Instance, claimed: f64, observed: f64) {
    let step = instance.iterate();
    assert!(step.stable, "{} > {}", step.alpha, step.f);
    near(&step.claimed, claimed);
    near(&step.observed, observed);
    assert!(step.observed < step.claimed);
    assert_eq!(step.observed, step.observed_constrained);
}

/// Ten points break Theorem 5 (and Corollary 6: the constraint is not active).
/// Claimed 0.034317, observed 0.033463.
#[test]
fn ten_points_break_theorem_5() {
    breaks_theorem_5(&instance((2, 0), (7, 1), q(4, 5), q(259, 5000)), 0.034317, 0.033463);
}

/// Thirteen points break Theorem 5 by more. Claimed 0.009147, observed 0.007357.
#[test]
fn thirteen_points_break_theorem_5() {
    breaks_theorem_5(&instance((4, 0), (7, 2), q(9, 10), q(1069, 100_000)), 0.009147, 0.007357);
}

/// Nineteen points with one negative moved to the left break Theorem 5, too.
/// Claimed 0.009373, observed 0.007586.
#[test]
fn nineteen_points_moved_break_theorem_5() {
    breaks_theorem_5(&instance((7, 1), (11, 0), q(9, 10), q(107, 10_000)), 0.009373, 0.007586);
}

/// The nineteen points of earlier versions of the page break Corollary 6 only: the plain Step 3 is
/// not stable, so Theorem 5 claims nothing. Claimed 0.002492, observed 0.001687.
#[test]
fn nineteen_points_break_corollary_6_only() {
    let step = instance((8, 1), (10, 0), q(9, 10), q(2785, 1_000_000)).iterate();
    assert!(!step.stable && step.alpha > step.f);
    near(&step.alpha, 0.003014);
    near(&step.f, 0.002777);
    near(&step.claimed, 0.002492);
    near(&step.observed_constrained, 0.001687);
    assert!(step.observed_constrained < step.claimed);
}

/// Scores in range are a hypothesis of Theorem 2: ten points, one of which leaves the range, all other
/// hypotheses with `ε = 0`. Claimed `|g|²/2` = 0.0882, observed 0.05748.
#[test]
fn ten_points_out_of_range() {
    // x = +1: one negative; x = -1: four negatives, five positives; u = clip(z + 1/10), η = 1.
    let tenth = q(1, 10);
    let g = (q(-1, 1) * &tenth + q(4, 1) * &tenth - q(5, 1) * (Q::one() - &tenth)) / q(10, 1);
    assert_eq!(g, q(-42, 100));
    let claimed = &g * &g / q(2, 1);
    assert_eq!(claimed, q(882, 10_000));
    // Scores: -0.42 (left of -0.1) and +0.42; q_1 = 0, so ŷ_1 = 0 and v(z) = clip(z + 0.42).
    let half = q(1, 2);
    let square = |v: Q| &half * &v * &v;
    let nine_tenths = Q::one() - &tenth;
    let before = (q(5, 1) * square(tenth) + q(5, 1) * square(nine_tenths)) / q(10, 1);
    let high = q(84, 100);
    // At the score -0.42 the value is 0; at +0.42 it is 0.84.
    let after =
        (square(q(0, 1)) + q(4, 1) * square(high.clone()) + q(5, 1) * square(Q::one() - &high))
            / q(10, 1);
    assert_eq!(before - after, q(5748, 100_000));
}
