//! The exact statements of `docs/convergence.md`: Lemmas 1 to 3, Proposition D, Theorem 10.

mod certify_support;

use certify_support::{Random, any_link, any_scored, link_from_steps};
use properloss::certify::*;
use properloss::link::{InverseLink, PiecewiseLink};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// A few hundred operations on numbers of the size of `scale`, each within eps/2 of exact.
fn rounding(scale: f64) -> f64 {
    512.0 * f64::EPSILON * scale
}

fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// The loss is `E[U(z) + U*(y) - y z]`, and nonnegative.
    #[test]
    fn loss_is_the_fenchel_form(u in any_link(), (z, y, w) in any_scored()) {
        let scored = Scored::new(&z, &y, Some(&w)).unwrap();
        let fenchel = scored.mean(|i| {
            let y = f64::from(y[i]);
            u.potential(z[i]) + u.conjugate(y) - y * z[i]
        });
        let loss = scored.loss(&u);
        prop_assert!(loss >= 0.0);
        prop_assert!((loss - fenchel).abs() <= rounding(10.0), "{loss} {fenchel}");
    }

    /// Lemma 1, against the difference of the two losses.
    #[test]
    fn lemma_1_change_of_link(u in any_link(), v in any_link(), (z, y, w) in any_scored()) {
        let scored = Scored::new(&z, &y, Some(&w)).unwrap();
        let tail = ScoreTail::new(&scored).unwrap();
        let direct = scored.loss(&v) - scored.loss(&u);
        let change = link_change(&u, &v, &tail);
        prop_assert!((change - direct).abs() <= rounding(10.0), "{change} {direct}");
        // Antisymmetric and zero on the diagonal: exactly, the terms are the same.
        prop_assert_eq!(link_change(&v, &u, &tail), -change);
        prop_assert_eq!(link_change(&u, &u, &tail), 0.0);
    }

    /// Lemma 1, linear in the link: damping by λ multiplies the change by λ.
    #[test]
    fn lemma_1_damping_is_linear(
        u in any_link(), v in any_link(), (z, y, w) in any_scored(), lambda in 0.0..1.0_f64,
    ) {
        let (u_min, u_max) = u.support();
        let (v_min, v_max) = v.support();
        prop_assume!(u_max.min(v_max) - u_min.max(v_min) > 1e-3);
        let scored = Scored::new(&z, &y, Some(&w)).unwrap();
        let tail = ScoreTail::new(&scored).unwrap();
        let mixed = convex_combination(&u, &v, lambda).unwrap();
        for s in [-3.0, -0.7, 0.0, 0.1, 0.5, 1.3, 2.0] {
            let expected = (1.0 - lambda) * u.u(s) + lambda * v.u(s);
            prop_assert!((mixed.u(s) - expected).abs() <= rounding(1.0));
        }
        let change = link_change(&u, &mixed, &tail);
        prop_assert!((change - lambda * link_change(&u, &v, &tail)).abs() <= rounding(10.0));
        prop_assert!(slope_range(&mixed).1 <= slope_range(&u).1.max(slope_range(&v).1) * (1.0 + 1e-12));
    }

    /// A condensed link has the values and the loss of the original at the scores, few knots, and
    /// slopes within those of the original.
    #[test]
    fn condensed_link_has_the_same_loss(
        u in any_link(), v in any_link(), (z, y, w) in any_scored(), lambda in 0.0..1.0_f64,
    ) {
        let overlap = u.support().1.min(v.support().1) - u.support().0.max(v.support().0);
        prop_assume!(overlap > 1e-3);
        let u = convex_combination(&u, &v, lambda).unwrap();
        let scored = Scored::new(&z, &y, Some(&w)).unwrap();
        let tail = ScoreTail::new(&scored).unwrap();
        let compact = condense(&u, tail.z(), slope_range(&u).1).unwrap();
        prop_assert!(compact.knots().x().len() <= 2 * tail.z().len() + 3);
        prop_assert_eq!(compact.support(), u.support());
        for &z in &z {
            prop_assert!((compact.u(z) - u.u(z)).abs() <= rounding(1.0));
        }
        prop_assert!((scored.loss(&compact) - scored.loss(&u)).abs() <= rounding(10.0));
        prop_assert!(link_change(&u, &compact, &tail).abs() <= rounding(10.0));
        // A slope is a quotient of differences of values up to 1: it is off by some eps/width, width of the
        // order 1e-4 up. That is 1e-8 of a large slope and more of a small one.
        let (before, after) = (slope_range(&u), slope_range(&compact));
        let off = 4.0 * f64::EPSILON / 1e-4;
        prop_assert!(after.0 >= before.0 * (1.0 - 1e-8) - off && after.1 <= before.1 * (1.0 + 1e-8) + off,
            "{before:?} {after:?}");
    }

    /// Lemma 2 and its exact form, in two dimensions, for steps short and long.
    #[test]
    fn lemma_2_step_one(
        u in any_link(), rows in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64, 0..2_u8, 0.1..3.0_f64), 1..20),
        w in (-2.0..2.0_f64, -2.0..2.0_f64), eta in 0.0..3.0_f64,
    ) {
        let y: Vec<u8> = rows.iter().map(|row| row.2).collect();
        let weights: Vec<f64> = rows.iter().map(|row| row.3).collect();
        let score = |w: (f64, f64)| -> Vec<f64> {
            rows.iter().map(|row| w.0 * row.0 + w.1 * row.1).collect()
        };
        let z = score(w);
        let before = Scored::new(&z, &y, Some(&weights)).unwrap();
        let y_hat: Vec<f64> = z.iter().map(|&z| u.u(z)).collect();
        let g = mean_operator_gap(&before, &y_hat, 2, |r, g| {
            for (r, row) in r.iter().zip(&rows) {
                g[0] += r * row.0;
                g[1] += r * row.1;
            }
        }).unwrap();
        let big_n = slope_range(&u).1;
        let lambda_max = {
            let e = |f: &dyn Fn(usize) -> f64| before.mean(f);
            let (a, b, c) = (e(&|i| rows[i].0.powi(2)), e(&|i| rows[i].0 * rows[i].1), e(&|i| rows[i].1.powi(2)));
            0.5 * (a + c) + (0.25 * (a - c).powi(2) + b * b).sqrt()
        };
        let eta = eta / (big_n * lambda_max);
        let next = score((w.0 + eta * g[0], w.1 + eta * g[1]));
        let after = before.with_scores(&next).unwrap();
        let decrease = before.loss(&u) - after.loss(&u);
        let square = g[0] * g[0] + g[1] * g[1];
        let divergence = step_divergence(&u, &before, &next).unwrap();
        let scale = 10.0 + next.iter().fold(0.0, |a, z| f64::max(a, z.abs()));
        prop_assert!((eta * square - divergence - decrease).abs() <= rounding(scale));
        prop_assert!(divergence <= 0.5 * eta * eta * big_n * lambda_max * square * (1.0 + 1e-12) + 1e-300);
        prop_assert!(decrease >= eta * (1.0 - 0.5 * eta * big_n * lambda_max) * square - rounding(scale));
    }

    /// `D_U(a ‖ b)` against the definition where that is accurate, and against `slope (a-b)²/2` where
    /// it is not.
    #[test]
    fn divergence_without_cancellation(u in any_link(), a in -3.0..3.0_f64, b in -3.0..3.0_f64) {
        let direct = u.potential(a) - u.potential(b) - (a - b) * u.u(b);
        let divergence = potential_divergence(&u, a, b);
        prop_assert!(divergence >= 0.0);
        prop_assert!((divergence - direct).abs() <= rounding(10.0));
        let near = b + 1e-9;
        let knots = u.knots().x();
        if knots.iter().all(|knot| (knot - b).abs() > 1e-8) {
            let expected = 0.5 * u.derivative(b) * (near - b).powi(2);
            prop_assert!((potential_divergence(&u, near, b) - expected).abs() <= 1e-12 * expected);
        }
    }

    /// Theorem 10: the identity and the inequality, for any next link and any next scores.
    #[test]
    fn theorem_btt_term_by_term(
        u in any_link(), v in any_link(), (z, y, w) in any_scored(), shift in -1.0..1.0_f64,
    ) {
        let (z_min, z_max) = u.support();
        let before: Vec<f64> = z.iter().map(|z| (0.5 * z + 0.2).clamp(z_min, z_max)).collect();
        let after: Vec<f64> = z.iter().map(|z| 0.7 * z + shift).collect();
        let scored = Scored::new(&before, &y, Some(&w)).unwrap();
        let (big_n, n) = (slope_range(&u).1, slope_range(&v).0);
        let terms = Decomposition::new(&u, &v, &scored, &after, big_n, n).unwrap();
        prop_assert!((terms.loss - scored.loss(&u)).abs() <= rounding(10.0), "in range");
        prop_assert!(terms.divergence >= 0.0);
        // u⁻¹ multiplies rounding by 1/n, at most 10³ here.
        let tolerance = rounding(10.0) * 1e3;
        let identity = terms.loss - terms.divergence - terms.f - terms.l;
        prop_assert!((terms.mixed - identity).abs() <= tolerance, "{terms:?}");
        prop_assert!(terms.loss_next <= big_n / n * terms.mixed * (1.0 + 1e-12) + tolerance);
        let bound = terms.loss - terms.divergence - terms.l - terms.q;
        prop_assert!(terms.loss_next <= bound + tolerance * (1.0 + big_n / n), "{terms:?}");
    }

    /// Proposition D: no link with slopes up to N has a lower loss than the steepest ramp, and
    /// the ramp predicts the base rate on average.
    #[test]
    fn proposition_d_steepest_ramp(u in any_link(), (z, y, w) in any_scored()) {
        let scored = Scored::new(&z, &y, Some(&w)).unwrap();
        let ramp = steepest_link(&scored, slope_range(&u).1).unwrap();
        prop_assert!(scored.loss(&ramp) <= scored.loss(&u) + rounding(10.0));
        let mean = scored.mean(|i| ramp.u(z[i]));
        prop_assert!((mean - scored.base_rate()).abs() <= rounding(100.0), "{mean} {}", scored.base_rate());
    }

    /// The loss is not scale free: squeezing the link by k and the scores with it divides it by k.
    #[test]
    fn loss_scales_with_the_scores(u in any_link(), (z, y, w) in any_scored(), k in 0.1..10.0_f64) {
        let squeezed: Vec<f64> = z.iter().map(|z| z / k).collect();
        let knots = u.knots();
        let narrow = properloss::piecewise::PiecewiseAffine::new(
            knots.x().iter().map(|x| x / k).collect(), knots.y().to_vec()).unwrap();
        let narrow = PiecewiseLink::new(narrow).unwrap();
        let loss = Scored::new(&z, &y, Some(&w)).unwrap().loss(&u);
        let scaled = Scored::new(&squeezed, &y, Some(&w)).unwrap().loss(&narrow);
        prop_assert!((scaled * k - loss).abs() <= rounding(10.0 * (1.0 + k)));
    }
}

/// Lemma 3 (closeness): random links with slopes in windows that satisfy its hypotheses, ties
/// included; and its hypothesis on the first score cannot be dropped.
#[test]
fn lemma_3_closeness() {
    let mut random = Random(3);
    for _ in 0..5_000 {
        let epsilon = random.unit().powi(2).max(1e-6);
        let (n_u, ratio) = (random.between(0.5, 2.0), 1.0 + epsilon * random.unit());
        let big_n_u = n_u * ratio;
        // v: N ≤ (1+ε) n', n ≥ N'/(1+ε).
        let (n_v, big_n_v) = (big_n_u / (1.0 + epsilon), n_u * (1.0 + epsilon));
        let m = 1 + random.below(12);
        let mut u = vec![random.unit() * 0.3];
        let mut v = vec![u[0] * random.between(1.0 / (1.0 + epsilon), 1.0 + epsilon)];
        for i in 1..m {
            let gap = if random.chance(0.2) { 0.0 } else { random.unit() * 0.1 };
            u.push(u[i - 1] + gap * random.between(n_u, big_n_u));
            v.push(v[i - 1] + gap * random.between(n_v, big_n_v));
        }
        for (u, v) in u.iter().zip(&v) {
            assert!(*v <= (1.0 + epsilon) * u * (1.0 + 1e-14), "{u} {v} {epsilon}");
            assert!(*v >= u / (1.0 + epsilon) * (1.0 - 1e-14), "{u} {v} {epsilon}");
        }
    }
}

/// Score tails count ties once and reject what is not an order.
#[test]
fn score_tail_with_ties() {
    let (z, y, w) = ([0.5, -1.0, 0.5, 2.0], [1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0]);
    let scored = Scored::new(&z, &y, Some(&w)).unwrap();
    let tail = ScoreTail::new(&scored).unwrap();
    assert_eq!(tail.z(), [-1.0, 0.5, 2.0]);
    assert_eq!(tail.base_rate(), 0.5);
    assert_eq!(tail.excess_at(-2.0), 0.5);
    assert!((tail.excess_at(-1.0) - 0.3).abs() < 1e-15);
    assert!((tail.excess_at(0.6) + 0.1).abs() < 1e-15);
    assert_eq!(tail.excess_at(2.0), -0.5);
    assert!(ScoreTail::from_order(&scored, [0, 1, 2, 3].into_iter()).is_err());
    assert!(Scored::new(&z, &[0, 1, 2, 0], None).is_err());
    assert!(Scored::new(&z, &y, Some(&[1.0, f64::NAN, 0.0, 0.0])).is_err());
}

/// Links whose supports do not meet cannot be combined: the result would be constant in between.
#[test]
fn disjoint_supports_are_an_error() {
    let (u, v) = (link_from_steps(0.0, &[(1.0, 1.0)]), link_from_steps(2.0, &[(1.0, 1.0)]));
    assert!(convex_combination(&u, &v, 0.5).is_err());
    assert_eq!(convex_combination(&u, &v, 1.0).unwrap(), v);
    assert!(convex_combination(&u, &v, 1.5).is_err());
}
