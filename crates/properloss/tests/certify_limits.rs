//! What `docs/convergence.md` says of long runs: the step never falls below `1/(2NΛ)`, a frozen link
//! gives the rate and convergent weights, a summable damping gives a limit.

mod certify_support;

use std::ops::ControlFlow;

use certify_support::{Random, link_from_steps};
use properloss::certify::*;
use properloss::design::Scaling;
use properloss::link::{InverseLink, PiecewiseLink};
use properloss::sample::{Matrix, Sample};
use properloss::train::{
    Candidate, Certified, CertifiedFit, Iteration, Model, Observer, Schedule, Silent,
};

/// Rows with two features and labels that no line separates.
struct Data {
    x: Vec<f64>,
    y: Vec<u8>,
}

impl Data {
    fn random(random: &mut Random) -> Self {
        let m = 20 + random.below(60);
        let x: Vec<f64> = (0..2 * m).map(|_| random.between(-1.0, 1.0)).collect();
        let mut y: Vec<u8> = (0..m)
            .map(|i| u8::from(random.chance(0.5 + 0.35 * x[2 * i] - 0.1 * x[2 * i + 1])))
            .collect();
        (y[0], y[1]) = (0, 1);
        Self { x, y }
    }

    fn fit(&self, trainer: &Certified, observer: &mut dyn Observer) -> CertifiedFit {
        let matrix = Matrix::dense_f64(&self.x, self.y.len(), 2).unwrap();
        trainer.fit(&Sample::new(matrix, &self.y, None).unwrap(), observer).unwrap()
    }

    /// `λ_max(E[x xᵀ])`, in closed form.
    fn curvature(&self) -> f64 {
        let mean =
            |f: &dyn Fn(&[f64]) -> f64| self.x.chunks(2).map(f).sum::<f64>() / self.y.len() as f64;
        let (a, b, c) = (mean(&|r| r[0] * r[0]), mean(&|r| r[0] * r[1]), mean(&|r| r[1] * r[1]));
        0.5 * (a + c) + (0.25 * (a - c) * (a - c) + b * b).sqrt()
    }

    fn loss(&self, w: &[f64], u: &dyn InverseLink) -> f64 {
        let z: Vec<f64> = self.x.chunks(2).map(|r| w[0] * r[0] + w[1] * r[1]).collect();
        Scored::new(&z, &self.y, None).unwrap().loss(u)
    }
}

fn frozen(freeze_after: Option<usize>, max_iter: usize, tol: f64) -> Certified {
    let candidate = Candidate::Labels;
    Certified::default()
        .with_schedule(Schedule::Monotone { candidate, theta: 0.5, freeze_after })
        .with_max_iter(max_iter)
        .with_tol(tol)
        .with_scaling(Scaling::None)
}

/// Keeps the weights of every iteration.
#[derive(Default)]
struct Path(Vec<[f64; 2]>);

impl Observer for Path {
    fn observe(&mut self, _: &Iteration) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn observe_model(
        &mut self,
        _: &Iteration,
        model: &dyn Fn() -> properloss::error::Result<Model>,
    ) -> ControlFlow<()> {
        let model = model().unwrap();
        self.0.push([model.coefficients()[0], model.coefficients()[1]]);
        ControlFlow::Continue(())
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&[a[0] - b[0], a[1] - b[1]])
}

/// `η_t >= 1/(2NΛ)` at every iteration, with the exact `Λ`.
#[test]
fn the_step_never_falls_below_half_of_the_safe_one() {
    let mut random = Random(71);
    let mut least = f64::INFINITY;
    for _ in 0..60 {
        let data = Data::random(&mut random);
        let mut trainer = frozen(None, 200, 1e-9);
        trainer.slope_max = [0.2, 1.0, 5.0][random.below(3)];
        let safe = 1.0 / (trainer.slope_max * data.curvature());
        for c in data.fit(&trainer, &mut Silent).certificates {
            least = least.min(c.eta / safe);
        }
    }
    println!("least step: {least:.4} of 1/(NΛ)");
    // Λ in closed form and the program's test are both rounded.
    assert!(least >= 0.5 * (1.0 - 1e-9), "{least}");
}

/// A frozen link: `ℓ(w_T) - ℓ(w) <= |w_{T_0} - w|²/(2 Σ η)` for every `w`, the distance to the
/// minimiser never grows, and the weights converge to it.
#[test]
fn freezing_gives_the_rate_and_convergent_weights() {
    let mut random = Random(73);
    for _ in 0..6 {
        let data = Data::random(&mut random);
        let start = 1 + random.below(12);
        let mut path = Path::default();
        let run = data.fit(&frozen(Some(start), 4000, 0.0), &mut path);
        let link = run.fit.model.link();
        let (first, limit) = (path.0[start - 1], *path.0.last().unwrap());
        // The limit is a minimiser: its gap is closed.
        assert!(run.certificates.last().unwrap().gap < 1e-9, "{:?}", run.certificates.last());
        let mut steps = 0.0;
        for (t, w) in path.0.iter().enumerate().skip(start).take(400) {
            steps += run.certificates[t].eta;
            let loss = data.loss(w, link.as_ref());
            for other in [limit, [0.0, 0.0], [random.between(-3.0, 3.0), random.between(-3.0, 3.0)]]
            {
                let gap = loss - data.loss(&other, link.as_ref());
                let bound = distance(&first, &other).powi(2) / (2.0 * steps);
                assert!(gap <= bound + 1e-13, "{gap} {bound} at {t}");
            }
            let (before, after) = (distance(&path.0[t - 1], &limit), distance(w, &limit));
            assert!(after <= before + 1e-7, "{before} {after} at {t}");
        }
        let late = &path.0[path.0.len() - path.0.len() / 4 - 1..];
        assert!(late.iter().all(|w| distance(w, &limit) < 1e-5), "{:?}", late.first());
    }
}

/// Summable damping: `u_t` converges uniformly (`|u_{t+1} - u_t| <= λ_t`), and the weights reached
/// minimise the loss of the limit.
#[test]
fn summable_damping_has_a_limit() {
    let mut random = Random(79);
    for _ in 0..10 {
        let data = Data::random(&mut random);
        let mut u = link_from_steps(-2.0, &[(4.0, 1.0)]);
        let mut w = [0.0_f64, 0.0];
        let safe = 1.0 / data.curvature();
        let rows = data.y.len() as f64;
        let gap = |u: &PiecewiseLink, w: &[f64; 2]| {
            let mut g = [0.0; 2];
            for (row, &y) in data.x.chunks(2).zip(&data.y) {
                let r = f64::from(y) - u.u(w[0] * row[0] + w[1] * row[1]);
                g[0] += r * row[0] / rows;
                g[1] += r * row[1] / rows;
            }
            g
        };
        let mut remaining = 1.0;
        let mut early = None;
        for t in 0..3000 {
            let g = gap(&u, &w);
            w = [w[0] + safe * g[0], w[1] + safe * g[1]];
            // Any candidate with slopes at most 1 and a support in [-3, 3].
            if t < 60 {
                let lambda = 0.5_f64.powi(t / 2 + 1) * 0.5;
                let first = random.between(0.2, 0.8);
                let centre = random.between(-0.5, 0.5);
                let v = link_from_steps(centre - 2.0, &[(2.0, first), (2.0, 1.0 - first)]);
                let next = convex_combination(&u, &v, lambda).unwrap();
                for k in 0..=60 {
                    let s = f64::from(k) / 10.0 - 3.0;
                    assert!((next.u(s) - u.u(s)).abs() <= lambda + 1e-15);
                }
                remaining -= lambda;
                u = next;
                if t == 40 {
                    early = Some((u.clone(), remaining));
                }
            }
        }
        // What was left of the sum bounds the distance of u_40 to the limit.
        let (early, at_40) = early.unwrap();
        let tail = at_40 - remaining;
        for k in 0..=600 {
            let s = f64::from(k) / 100.0 - 3.0;
            assert!((u.u(s) - early.u(s)).abs() <= tail + 1e-15);
        }
        assert!(tail < 2e-6);
        let g = gap(&u, &w);
        assert!(norm(&g) < 1e-8, "{g:?}");
        let reached = data.loss(&w, &u);
        for _ in 0..200 {
            let other = [w[0] + random.between(-1.0, 1.0), w[1] + random.between(-1.0, 1.0)];
            assert!(data.loss(&other, &u) >= reached - 1e-12);
        }
    }
}
