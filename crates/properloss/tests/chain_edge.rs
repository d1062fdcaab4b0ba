//! Edge cases, errors, and the small entry points of the chain.

mod chain_support;

use chain_support::{Instance, Rng, check, check_states, instances, random_instance};
use properloss::Error;
use properloss::chain::{
    BinnedScores, ChainProblem, EdgeState, EndState, Objective, Resort, ScoreOrder, Workspace,
    fit_link, fit_link_with, isotonic, minimal_top, solve,
};
use properloss::link::{InverseLink, PiecewiseLink};
use properloss::piecewise::PiecewiseAffine;

fn quadratic(scores: &[f64], targets: &[f64], n: f64, cap: f64) -> Instance {
    Instance {
        scores: scores.to_vec(),
        weights: vec![1.0; scores.len()],
        targets: targets.to_vec(),
        slopes: (n, cap),
        first: (0.0, 1.0),
        last: (f64::NEG_INFINITY, 1.0),
        link: None,
    }
}

#[test]
fn one_and_two_points() {
    for (target, value) in [(0.3, 0.3), (-2.0, 0.0), (7.0, 1.0)] {
        let s = solve(&quadratic(&[5.0], &[target], 0.1, 2.0).problem()).unwrap();
        assert!((s.values[0] - value).abs() <= 4e-16);
        assert!(s.edges.is_empty());
        assert!(s.kkt_residual <= 4e-16);
    }
    // Pooled to the slope bounds: mean 0.5, difference n = 0.1 or N = 0.5.
    let s = solve(&quadratic(&[0.0, 1.0], &[0.8, 0.2], 0.1, 0.5).problem()).unwrap();
    assert!((s.values[0] - 0.45).abs() < 1e-15 && (s.values[1] - 0.55).abs() < 1e-15);
    assert_eq!(s.edges, [EdgeState::Lower]);
    let s = solve(&quadratic(&[0.0, 1.0], &[0.0, 1.0], 0.1, 0.5).problem()).unwrap();
    assert!((s.values[0] - 0.25).abs() < 1e-15 && (s.values[1] - 0.75).abs() < 1e-15);
    assert_eq!(s.edges, [EdgeState::Upper]);
    let s = solve(&quadratic(&[0.0, 1.0], &[0.3, 0.6], 0.1, 0.5).problem()).unwrap();
    assert!((s.values[0] - 0.3).abs() < 1e-15 && (s.values[1] - 0.6).abs() < 1e-15);
    assert_eq!(s.edges, [EdgeState::Free]);
}

#[test]
fn all_scores_equal() {
    let mut p = quadratic(&[2.0; 4], &[0.0, 1.0, 1.0, 0.5], 0.5, 3.0);
    p.weights = vec![1.0, 2.0, 3.0, 4.0];
    let s = solve(&p.problem()).unwrap();
    for y in &s.values {
        assert!((y - 0.7).abs() < 1e-15);
    }
    assert!(s.edges.iter().all(|&l| l == EdgeState::Tied));
}

#[test]
fn equal_slopes_leave_one_shift() {
    let p = quadratic(&[0.0, 0.1, 0.4], &[0.9, 0.1, 0.2], 1.0, 1.0);
    let s = solve(&p.problem()).unwrap();
    // The shift is mean(t - ramp) = (0.9 + 0.0 - 0.2) / 3.
    let shift = 0.7 / 3.0;
    for (y, ramp) in s.values.iter().zip([0.0, 0.1, 0.4]) {
        assert!((y - shift - ramp).abs() < 1e-15);
    }
}

#[test]
fn the_box_is_met_exactly() {
    // n times the range is all the room there is: the only feasible point is the ramp.
    let z = [0.0, 0.1, 0.7, 3.0];
    let s = solve(&quadratic(&z, &[1.0; 4], 1.0 / 3.0, 9.0).problem()).unwrap();
    for (y, z) in s.values.iter().zip(z) {
        assert!((y - z / 3.0).abs() <= 1e-15);
    }
    assert_eq!((s.first, s.last), (EndState::Lower, EndState::Upper));
    assert_eq!((s.values[0], s.values[3]), (0.0, 1.0));
}

#[test]
fn infeasible_says_the_largest_slope() {
    let p = quadratic(&[0.0, 1.0, 4.0], &[0.0; 3], 0.5, 1.0);
    let Err(Error::InfeasibleSlope { largest_slope_min, .. }) = solve(&p.problem()) else {
        panic!("must be infeasible");
    };
    assert_eq!(largest_slope_min, 0.25);
    // That bound itself is accepted, for awkward ranges too.
    let mut rng = Rng(3);
    for _ in 0..2000 {
        let z = [rng.unit() * 7.0 - 3.0, 5.0 + rng.unit() * rng.power(-3.0, 6.0)];
        let mut p = quadratic(&z, &[0.9, 0.1], 1e300, f64::INFINITY);
        let lo = 0.3 * rng.unit();
        p.first = (lo, 1.0);
        let Err(Error::InfeasibleSlope { largest_slope_min, .. }) = solve(&p.problem()) else {
            panic!("must be infeasible");
        };
        p.slopes.0 = largest_slope_min;
        let s = solve(&p.problem()).unwrap();
        assert!(p.infeasibility(&s.values) <= 1e-15 && s.kkt_residual <= 1e-15);
        p.slopes.0 = largest_slope_min * (1.0 + 1e-13);
        assert!(solve(&p.problem()).is_err());
    }
    // A last value that the upper slope cannot reach.
    let mut p = quadratic(&[0.0, 1.0], &[0.0; 2], 0.0, 0.5);
    (p.first, p.last) = ((0.0, 0.1), (0.9, 1.0));
    let Err(Error::UnreachableLast { smallest_slope_max, reachable, .. }) = solve(&p.problem())
    else {
        panic!("must be unreachable");
    };
    assert!((smallest_slope_max - 0.8).abs() < 1e-15 && (reachable - 0.6).abs() < 1e-15);
    p.slopes.1 = smallest_slope_max;
    let s = solve(&p.problem()).unwrap();
    assert!(p.infeasibility(&s.values) <= 1e-15);
}

#[test]
fn bad_input_is_named() {
    let ok = [0.0, 1.0];
    let err = |z: &[f64], t: &[f64], w: &[f64], n: f64, cap: f64| {
        let problem = ChainProblem::new(z, Objective::Quadratic { targets: t });
        solve(&problem.with_weights(w).with_slopes(n, cap)).unwrap_err()
    };
    assert!(matches!(err(&[], &[], &[], 0.0, 1.0), Error::TooShort { .. }));
    assert!(matches!(err(&ok, &[0.0], &ok, 0.0, 1.0), Error::LengthMismatch { .. }));
    assert!(matches!(err(&ok, &ok, &[1.0], 0.0, 1.0), Error::LengthMismatch { .. }));
    let nan = err(&[0.0, f64::NAN], &ok, &ok, 0.0, 1.0);
    assert!(matches!(nan, Error::NotFinite { what: "scores", index: 1, .. }));
    assert!(matches!(err(&[1.0, 0.0], &ok, &ok, 0.0, 1.0), Error::NotSorted { index: 1, .. }));
    let infinite = err(&ok, &[0.0, f64::INFINITY], &ok, 0.0, 1.0);
    assert!(matches!(infinite, Error::NotFinite { what: "targets", .. }));
    let negative = err(&ok, &ok, &[1.0, -1.0], 0.0, 1.0);
    assert!(matches!(negative, Error::ElementOutOfDomain { what: "weights", index: 1, .. }));
    assert!(matches!(err(&ok, &ok, &ok, -1.0, 1.0), Error::OutOfDomain { .. }));
    assert!(matches!(err(&ok, &ok, &ok, 0.5, 0.1), Error::OutOfDomain { .. }));
    assert!(matches!(err(&ok, &ok, &ok, 0.5, f64::NAN), Error::OutOfDomain { .. }));
    let wide = err(&[-1.7e308, 1.7e308], &ok, &ok, 0.0, 1.0);
    assert!(matches!(wide, Error::OutOfDomain { .. }));
}

#[test]
fn scores_of_any_scale() {
    let mut rng = Rng(9);
    for exponent in [-300, -200, -30, 30, 200, 300] {
        let scale = 10f64.powi(exponent);
        for bregman in [false, true] {
            for _ in 0..20 {
                let mut p = random_instance(&mut rng, 50, bregman);
                // random_instance scales by up to 1e3 and slopes with it.
                let z0 = p.scores.iter().fold(0.0_f64, |a, z| a.max(z.abs())).max(1e-3);
                let factor = scale / z0;
                p.scores.iter_mut().for_each(|z| *z *= factor);
                p.slopes = (p.slopes.0 / factor * (1.0 - 1e-12), p.slopes.1 / factor);
                p.slopes.1 = p.slopes.1.max(p.slopes.0);
                p.last.0 = f64::NEG_INFINITY;
                if let Some(link) = &p.link {
                    let (x, y) = (link.knots().x(), link.knots().y().to_vec());
                    let x = x.iter().map(|x| x * factor).collect();
                    let Ok(knots) = PiecewiseAffine::new(x, y) else { continue };
                    p.link = Some(PiecewiseLink::new(knots).unwrap());
                    p.targets.iter_mut().for_each(|c| *c *= factor);
                }
                let s = solve(&p.problem()).unwrap();
                assert!(p.infeasibility(&s.values) <= 1e-12, "1e{exponent}");
                let unit = p.unit();
                assert!(s.kkt_residual <= 1e-12 * unit, "1e{exponent}: {:e}", s.kkt_residual);
                assert!(p.kkt(&s.values) <= 1e-12 * unit, "1e{exponent}");
            }
        }
    }
}

#[test]
fn weights_from_1e_minus_12_to_1e12() {
    let mut rng = Rng(10);
    for k in 0..200 {
        let mut p = random_instance(&mut rng, 80, k % 2 == 0);
        p.weights.iter_mut().for_each(|w| *w = rng.power(-12.0, 12.0));
        let s = solve(&p.problem()).unwrap();
        check(&p, &s).unwrap_or_else(|why| panic!("{k}: {why}\n{p:?}"));
    }
    // All of the same extreme size: as exact as weight 1.
    for w in [1e-12, 1e12] {
        let mut p = quadratic(&[0.0, 1.0, 2.0], &[0.6, 0.1, 0.9], 0.01, 1.0);
        let y = solve(&p.problem()).unwrap().values;
        p.weights = vec![w; 3];
        let z = solve(&p.problem()).unwrap().values;
        assert!(y.iter().zip(&z).all(|(a, b)| (a - b).abs() <= 4e-15));
    }
}

#[test]
fn no_weight_at_all_is_any_feasible_point() {
    let mut p = quadratic(&[0.0, 1.0, 2.0], &[0.5; 3], 0.1, 0.2);
    p.weights = vec![0.0; 3];
    (p.first, p.last) = ((0.2, 0.4), (0.75, 0.9));
    let s = solve(&p.problem()).unwrap();
    assert!(p.infeasibility(&s.values) <= 1e-15);
    assert_eq!(s.kkt_residual, 0.0);
}

#[test]
fn a_workspace_gives_the_same_bits() {
    let mut rng = Rng(12);
    let mut workspace = Workspace::new();
    for k in 0..200 {
        let p = random_instance(&mut rng, 200, k % 2 == 0);
        let fresh = solve(&p.problem()).unwrap();
        assert_eq!(workspace.solve(&p.problem()).unwrap(), &fresh);
    }
}

#[test]
fn smooth_links_by_their_inverse() {
    #[derive(Debug)]
    struct Sigmoid;
    impl InverseLink for Sigmoid {
        fn u(&self, z: f64) -> f64 {
            1.0 / (1.0 + (-z).exp())
        }
        fn derivative(&self, z: f64) -> f64 {
            let e = (-z.abs()).exp();
            e / (1.0 + e).powi(2)
        }
        fn u_inverse(&self, p: f64) -> f64 {
            (p / (1.0 - p)).ln()
        }
        fn potential(&self, z: f64) -> f64 {
            z.max(0.0) + (-z.abs()).exp().ln_1p()
        }
        fn conjugate(&self, p: f64) -> f64 {
            p * p.ln() + (1.0 - p) * (1.0 - p).ln()
        }
    }
    let mut rng = Rng(14);
    for k in 0..instances(300, 5000) {
        let mut p = random_instance(&mut rng, 100, false);
        // Old scores, up to 12 away from the middle.
        let spread = if k % 3 == 0 { 24.0 } else { 6.0 };
        p.targets.iter_mut().for_each(|c| *c = spread * (c.clamp(0.0, 1.0) - 0.5));
        p.slopes.0 *= 0.9;
        // Away from 1, where a rounding of y is a step of its score: y itself limits the answer.
        p.last = (p.last.0.min(0.99 * p.last.1), 0.999 * p.last.1);
        let objective = Objective::Bregman { link: &Sigmoid, target_scores: &p.targets };
        let problem = ChainProblem::new(&p.scores, objective)
            .with_weights(&p.weights)
            .with_slopes(p.slopes.0, p.slopes.1)
            .with_first(p.first.0, p.first.1)
            .with_last(p.last.0, p.last.1);
        let s = solve(&problem).unwrap();
        let infeasible = p.infeasibility(&s.values);
        assert!(infeasible <= 1e-12, "{k}: {infeasible:e}\n{p:?}\n{s:?}");
        let allowed = 1e-12 * spread;
        assert!(s.kkt_residual <= allowed, "{k}: {:e}\n{p:?}\n{s:?}", s.kkt_residual);
        // By the textbook's logit. A value of 1e-6 with a rounding of 1e-16 has a score good to 1e-10.
        if s.values.iter().all(|&y| y == 0.0 || y > 1e-6) {
            let logit = |y: f64| y.ln() - (-y).ln_1p();
            let kkt = p.kkt_with(&s.values, |y, c| logit(y.max(f64::MIN_POSITIVE)) - c);
            assert!(kkt <= 1e-9 * spread, "{k}: {kkt:e}\n{p:?}\n{s:?}");
        }
    }
}

/// What the solution says of its edges and ends is so, also where points weigh nothing.
#[test]
fn states_agree_with_values() {
    let mut rng = Rng(18);
    for k in 0..instances(400, 5000) {
        let mut p = random_instance(&mut rng, if k % 8 == 0 { 300 } else { 12 }, k % 3 == 0);
        if k % 2 == 0 {
            p.weights.iter_mut().for_each(|w| *w = if rng.chance(0.4) { 0.0 } else { *w });
        }
        let s = solve(&p.problem()).unwrap();
        let infeasible = p.infeasibility(&s.values);
        assert!(infeasible <= 1e-12, "{k}: {infeasible:e}\n{p:?}\n{s:?}");
        if let Err(why) = check_states(&p, &s) {
            panic!("{k}: {why}\n{p:?}\n{s:?}");
        }
    }
}

/// How much work it takes: a change that makes the solver wander shows here, not in its answers.
#[test]
fn few_passes_suffice() {
    let mut rng = Rng(19);
    let (mut passes, mut most, mut moves) = (0, 0, 0);
    for _ in 0..200 {
        let p = random_instance(&mut rng, 300, true);
        let s = solve(&p.problem()).unwrap();
        passes += s.passes;
        most = most.max(s.passes);
        moves += s.knot_moves;
        assert!(!s.used_tree);
    }
    // Counted: 167, at most 4 in one.
    assert!((159..=175).contains(&passes) && most <= 4, "{passes} passes, {most}");
    assert!(moves > 0);
}

#[test]
fn isotonic_equals_the_chain_without_bounds() {
    let mut rng = Rng(15);
    for _ in 0..100 {
        let m = 1 + rng.below(200);
        let scores: Vec<f64> = (0..m).map(|i| i as f64).collect();
        let targets: Vec<f64> = (0..m).map(|_| rng.unit()).collect();
        let weights: Vec<f64> = (0..m).map(|_| rng.power(-2.0, 2.0)).collect();
        let pav = isotonic(&targets, Some(&weights)).unwrap();
        let objective = Objective::Quadratic { targets: &targets };
        let chain = solve(&ChainProblem::new(&scores, objective).with_weights(&weights)).unwrap();
        for i in 0..m {
            assert!((pav[i] - chain.values[i]).abs() <= 1e-13);
        }
    }
    assert_eq!(isotonic(&[3.0, 1.0, 2.0], None).unwrap(), [2.0; 3]);
    assert_eq!(isotonic(&[9.0, 1.0], Some(&[0.0, 1.0])).unwrap(), [1.0, 1.0]);
    assert_eq!(isotonic(&[1.0, 9.0, 2.0], Some(&[1.0, 0.0, 1.0])).unwrap(), [1.0, 1.0, 2.0]);
    assert!(isotonic(&[], None).is_err());
    // Violators of two pools become one: (1 + 5 + 3·2)/5 from the second on.
    let pooled = isotonic(&[0.0, 1.0, 5.0, 2.0], Some(&[1.0, 1.0, 1.0, 3.0])).unwrap();
    assert_eq!(pooled, [0.0, 1.0, 2.75, 2.75]);
    let all = isotonic(&[4.0, 5.0, 0.0], Some(&[1.0, 1.0, 4.0])).unwrap();
    assert_eq!(all, [1.5; 3]);
    // Equal neighbours are one pool; points without any weight are 0.
    assert_eq!(isotonic(&[1.0, 1.0, 1.0, 2.0], None).unwrap(), [1.0, 1.0, 1.0, 2.0]);
    assert_eq!(isotonic(&[3.0, 4.0], Some(&[0.0, 0.0])).unwrap(), [0.0, 0.0]);
}

/// The largest targets and weights are taken, what is beyond them or no number is named.
#[test]
fn isotonic_regression_has_bounds() {
    assert_eq!(isotonic(&[-1e100, 1e100], Some(&[1e100, 1.0])).unwrap(), [-1e100, 1e100]);
    for bad in [f64::NAN, 1.1e100, -1.1e100, f64::INFINITY] {
        match isotonic(&[0.0, bad], None) {
            Err(Error::ElementOutOfDomain { what: "targets", index: 1, .. }) => {}
            other => panic!("{bad}: {other:?}"),
        }
    }
    for bad in [f64::NAN, 1.1e100, -1e-9, f64::INFINITY] {
        match isotonic(&[0.0, 0.0, 1.0], Some(&[1.0, 1.0, bad])) {
            Err(Error::ElementOutOfDomain { what: "weights", index: 2, .. }) => {}
            other => panic!("{bad}: {other:?}"),
        }
    }
    assert!(matches!(isotonic(&[0.0], Some(&[1.0, 1.0])), Err(Error::LengthMismatch { .. })));
}

/// Sums and means over rows of equal scores, by hand; a group without weight has the mean 0.
#[test]
fn groups_of_equal_scores_have_their_sums_and_means() {
    let mut order = ScoreOrder::new();
    order.update(&[2.0, -1.0, 2.0, 5.0, -1.0, 2.0]).unwrap();
    assert_eq!(
        (order.scores(), order.groups(), order.has_ties()),
        (&[-1.0, 2.0, 5.0][..], 3, true)
    );
    assert_eq!(
        (0..3).map(|g| order.rows(g).to_vec()).collect::<Vec<_>>(),
        [vec![1, 4], vec![0, 2, 5], vec![3]]
    );
    let (weights, targets) = ([1.0, 0.0, 3.0, 0.5, 0.0, 4.0], [1.0, 7.0, 3.0, 9.0, 8.0, 0.5]);
    let (mut sums, mut means) = (vec![9.0; 7], vec![9.0; 7]);
    order.group_weights(Some(&weights), &mut sums).unwrap();
    order.group_means(Some(&weights), |row| targets[row], &mut means).unwrap();
    assert_eq!((&sums[..], &means[..]), (&[0.0, 8.0, 0.5][..], &[0.0, 12.0 / 8.0, 9.0][..]));
    order.group_weights(None, &mut sums).unwrap();
    order.group_means(None, |row| targets[row], &mut means).unwrap();
    assert_eq!((&sums[..], &means[..]), (&[2.0, 3.0, 1.0][..], &[7.5, 1.5, 9.0][..]));
    let mut rows = [0.0; 6];
    order.scatter(&[10.0, 20.0, 30.0], &mut rows).unwrap();
    assert_eq!(rows, [20.0, 10.0, 20.0, 30.0, 10.0, 20.0]);
    assert!(order.scatter(&[1.0; 2], &mut rows).is_err());
    assert!(order.scatter(&[1.0; 3], &mut [0.0; 5]).is_err());
    assert!(order.group_weights(Some(&weights[..5]), &mut sums).is_err());
    assert!(order.group_means(Some(&weights[..5]), |_| 0.0, &mut means).is_err());
    assert!(order.group_means_into(None, |_| 0.0, &mut [0.0; 2]).is_err());
    // Without ties every row is a group.
    order.update(&[3.0, 1.0, 2.0]).unwrap();
    assert_eq!((order.groups(), order.has_ties()), (3, false));
    assert_eq!((order.rows(0), order.rows(2), order.order()), (&[1][..], &[0][..], &[1, 2, 0][..]));
    order.group_means(Some(&[0.0, 5.0, 1.0]), |row| targets[row], &mut means).unwrap();
    order.group_weights(Some(&[0.0, 5.0, 1.0]), &mut sums).unwrap();
    assert_eq!((&sums[..], &means[..]), (&[5.0, 1.0, 0.0][..], &[7.0, 3.0, 1.0][..]));
}

#[test]
fn minimal_top_is_the_ramp() {
    let y = minimal_top(&[1.0, 2.0, 4.0], 0.1, 0.2, 1.0).unwrap();
    assert!(y.iter().zip([0.2, 0.3, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15));
    assert!(matches!(minimal_top(&[0.0, 10.0], 0.2, 0.0, 1.0), Err(Error::InfeasibleSlope { .. })));
    // The last value may be at the top, by rounding too; a flat ramp stays where it begins.
    assert_eq!(minimal_top(&[-3.0, 7.0], 0.1, 0.0, 1.0).unwrap(), [0.0, 1.0]);
    assert_eq!(minimal_top(&[5.0, 5.0, 9.0], 0.0, 0.25, 1.0).unwrap(), [0.25; 3]);
    assert!(matches!(minimal_top(&[], 0.1, 0.0, 1.0), Err(Error::TooShort { .. })));
    assert!(matches!(minimal_top(&[1.0, 0.0], 0.1, 0.0, 1.0), Err(Error::NotSorted { .. })));
    assert!(minimal_top(&[0.0, 1.0], -0.1, 0.0, 1.0).is_err());
}

/// Definition 2 on every piece, up to the rounding of a difference over a width.
fn assert_definition_2(link: &PiecewiseAffine, n: f64, cap: f64) {
    let (x, y) = (link.x(), link.y());
    assert_eq!((y[0], y[y.len() - 1]), (0.0, 1.0));
    for k in 0..x.len() - 1 {
        let (dx, slope) = (x[k + 1] - x[k], link.piece_slope(k));
        let size = x[k].abs().max(x[k + 1].abs());
        let slack = 4.0 * f64::EPSILON * (1.0 + cap.min(1e12) * size) / dx;
        assert!(slope >= n - slack && slope <= cap + slack, "piece {k}: {slope} in [{n}, {cap}]");
    }
}

#[test]
fn fitted_links_satisfy_definition_2() {
    let mut rng = Rng(16);
    for k in 0..300 {
        let mut p = random_instance(&mut rng, 150, false);
        if p.slopes.0 == 0.0 {
            let s = solve(&p.problem()).unwrap();
            assert!(matches!(fit_link(&s, &p.scores), Err(Error::OutOfDomain { .. })));
            continue;
        }
        p.slopes.0 *= 0.99;
        let s = solve(&p.problem()).unwrap();
        let link = fit_link(&s, &p.scores).unwrap_or_else(|e| panic!("{k}: {e}\n{p:?}\n{s:?}"));
        assert_definition_2(&link, p.slopes.0, p.slopes.1);
        for i in 0..p.len() {
            let error = (link.eval(p.scores[i]) - s.values[i]).abs();
            // Left-out near-ties lie within a rounding of the scores times the slope.
            let size = p.scores[i].abs() * p.slopes.1.min(1e6 * p.slopes.0.max(1.0));
            assert!(
                error <= 1e-12 + 8.0 * f64::EPSILON * size,
                "{k}, {i}: {error:e}\n{p:?}\n{s:?}"
            );
        }
        if p.slopes.1.is_finite() {
            let steep = fit_link_with(&s, &p.scores, p.slopes.1).unwrap();
            assert_definition_2(&steep, p.slopes.0, p.slopes.1);
        }
    }
}

#[test]
fn the_order_is_repaired_or_sorted() {
    let mut rng = Rng(17);
    let m = 5000;
    let mut z: Vec<f64> = (0..m).map(|_| rng.unit()).collect();
    let mut order = ScoreOrder::new();
    assert_eq!(order.update(&z).unwrap(), Resort::Sorted);
    z.iter_mut().for_each(|z| *z += 1e-5 * rng.unit());
    assert!(matches!(order.update(&z).unwrap(), Resort::Inserted(k) if k > 0 && k < 5000));
    assert!(order.scores().windows(2).all(|p| p[0] < p[1]));
    assert!(order.order().iter().zip(order.scores()).all(|(&r, &s)| z[r as usize] == s));
    z.iter_mut().for_each(|z| *z = rng.unit());
    assert_eq!(order.update(&z).unwrap(), Resort::Sorted);
    // Ties: the same groups whichever way the order was found.
    z.iter_mut().for_each(|z| *z = (*z * 100.0).floor());
    order.update(&z).unwrap();
    let mut fresh = ScoreOrder::new();
    fresh.update(&z).unwrap();
    assert_eq!((order.order(), order.scores()), (fresh.order(), fresh.scores()));
    assert_eq!(order.groups(), 100);
    let (mut weights, mut means, mut rows) = (Vec::new(), Vec::new(), vec![0.0; m]);
    order.group_weights(None, &mut weights).unwrap();
    assert_eq!(weights.iter().sum::<f64>(), m as f64);
    order.group_means(None, |r| z[r], &mut means).unwrap();
    order.scatter(&means, &mut rows).unwrap();
    assert_eq!(rows, z);
    assert!(order.update(&[f64::NAN]).is_err());
}

#[test]
fn any_distribution_of_scores_is_sorted() {
    let mut rng = Rng(19);
    let m = 20_000;
    let shapes: [&dyn Fn(&mut Rng) -> f64; 6] = [
        &|rng| rng.unit(),
        &|rng| rng.power(-300.0, 300.0) * if rng.chance(0.5) { 1.0 } else { -1.0 },
        &|rng| if rng.chance(1e-3) { 1e308 } else { rng.unit() },
        &|rng| if rng.chance(0.5) { -1e308 } else { 1e308 },
        &|rng| (rng.unit() * 50.0).floor(),
        &|_| -0.0,
    ];
    for (k, shape) in shapes.iter().enumerate() {
        let z: Vec<f64> = (0..m).map(|_| shape(&mut rng)).collect();
        let mut expected = z.clone();
        expected.sort_by(f64::total_cmp);
        let mut order = ScoreOrder::new();
        order.update(&z).unwrap();
        let by_order: Vec<f64> = order.order().iter().map(|&r| z[r as usize]).collect();
        assert_eq!(by_order, expected, "shape {k}");
        let mut rows = order.order().to_vec();
        rows.sort_unstable();
        assert!(rows.iter().zip(0u32..).all(|(&a, b)| a == b), "shape {k}: a permutation");
        expected.dedup();
        assert_eq!(order.scores(), expected, "shape {k}");
    }
}

#[test]
fn binned_error_is_within_its_bound() {
    let mut rng = Rng(18);
    for k in 0..100 {
        let mut p = random_instance(&mut rng, 300, k % 2 == 0);
        p.slopes.0 *= 0.9;
        if p.slopes.1.is_infinite() {
            p.slopes.1 = 5.0 * p.slopes.0 + 1.0 / (p.scores[p.len() - 1] - p.scores[0] + 1e-9);
        }
        let range = p.scores[p.len() - 1] - p.scores[0];
        if p.len() < 2 || range < 1e-6 {
            continue;
        }
        p.last.0 = f64::NEG_INFINITY;
        let exact = p.cost(&solve(&p.problem()).unwrap().values);
        let link = p.link.as_ref().map(|l| l as &dyn InverseLink);
        for bins in [4, 64, 4096] {
            let (low, high) = (p.scores[0] - 0.01 * range, p.scores[p.len() - 1] + 0.01 * range);
            // Two machines with half of the rows each.
            let mut halves = [0, 1].map(|_| BinnedScores::new(low, high, bins).unwrap());
            for i in 0..p.len() {
                halves[i % 2].add(p.scores[i], p.weights[i], p.targets[i]).unwrap();
            }
            let [mut grid, other] = halves;
            grid.merge(&other).unwrap();
            let chain = grid.chain().unwrap();
            let solution = solve(&chain.problem(link, p.slopes, p.first, p.last)).unwrap();
            let value = |&z: &f64| chain.value_at(&solution, p.first.1, p.last.0, z);
            let values: Vec<f64> = p.scores.iter().map(value).collect();
            assert!(p.infeasibility(&values) <= 1e-12, "{}", p.infeasibility(&values));
            let excess = p.cost(&values) - exact;
            let bound = grid.error_bound(p.slopes.1, link, p.first.0, p.last.1);
            let total: f64 = p.weights.iter().sum();
            assert!(excess <= bound + 1e-12 * total * p.unit(), "{k}: {excess:e} > {bound:e}");
        }
    }
}

/// Where the blocks of the start are those of the answer no pass is needed, and no knots: targets on
/// the link itself; and targets flatter than the lower bound allows, which that bound decides.
#[test]
fn a_start_with_the_right_blocks_takes_no_pass() {
    let link = PiecewiseLink::from_knots(vec![-2.0, -1.0, 2.0], vec![0.0, 0.4, 1.0]).unwrap();
    let scores: Vec<f64> = (0..2000).map(|i| 1.9 * f64::from(i) / 2000.0 - 0.95).collect();
    let m = scores.len();
    let solve = |target_scores: &[f64], slopes: (f64, f64)| {
        let objective = Objective::Bregman { link: &link, target_scores };
        solve(&ChainProblem::new(&scores, objective).with_slopes(slopes.0, slopes.1)).unwrap()
    };
    let itself = solve(&scores, (0.1, 0.5));
    assert_eq!((itself.passes, itself.knot_moves), (0, 0));
    for (y, &z) in itself.values.iter().zip(&scores) {
        assert!((y - link.u(z)).abs() <= 1e-15);
    }
    assert!(itself.edges.iter().all(|&state| state == EdgeState::Free));

    // Steeper than the link everywhere: one rigid block at the lower bound, where Σ (g(y) - c) = 0.
    let steep = solve(&vec![-0.3; m], (0.45, 0.5));
    assert_eq!(steep.passes, 0);
    assert!(steep.edges.iter().all(|&state| state == EdgeState::Lower));
    let balance: f64 = steep.values.iter().map(|&y| link.u_inverse(y) + 0.3).sum();
    // y_1 >= 0 is free to bind: then the sum is positive, and the first value 0.
    assert!(balance.abs() <= 1e-9 || (balance > 0.0 && steep.values[0] == 0.0), "{balance}");
    assert!(steep.kkt_residual <= 1e-15);
}

/// Points without weight at the ends run on with the slope nearest to the least that meets the box, and
/// the state of an end is that of the value that stands there, not of the last row with weight.
#[test]
fn ends_without_weight_have_the_state_of_their_value() {
    let targets = [0.9, 0.5, 0.55, 0.6, 0.1];
    let mut chain = quadratic(&[0.0, 1.0, 2.0, 3.0, 4.0], &targets, 0.0, 2.0);
    chain.weights = vec![0.0, 1.0, 1.0, 1.0, 0.0];
    let check = |chain: &Instance, values: [f64; 5], states: (EndState, EndState)| {
        let found = solve(&chain.problem()).unwrap();
        for (found, value) in found.values.iter().zip(values) {
            assert!((found - value).abs() <= 4e-16, "{found} {value}");
        }
        assert_eq!((found.first, found.last), states);
    };
    let (free, lower, upper) = (EndState::Free, EndState::Lower, EndState::Upper);
    check(&chain, [0.5, 0.5, 0.55, 0.6, 0.6], (free, free));
    // The rows with weight are free, the ends are not.
    (chain.first, chain.last) = ((0.0, 0.1), (0.9, 1.0));
    check(&chain, [0.1, 0.5, 0.55, 0.6, 0.9], (upper, lower));
    (chain.first, chain.last) = ((0.0, 0.1), (f64::NEG_INFINITY, 1.0));
    check(&chain, [0.1, 0.5, 0.55, 0.6, 0.6], (upper, free));
}
