//! The links of several classes that the test battery runs on.

use std::sync::Arc;

use super::{ClassRamp, Floor, Mixture, Ramp, Softmax, VectorLink};
use crate::error::Result;

/// A named link of several classes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct VectorEntry {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The link with its example parameters, for this many classes.
    pub examples: fn(classes: usize) -> Result<Vec<Arc<dyn VectorLink>>>,
}

/// Every named link.
pub fn vector_registry() -> &'static [VectorEntry] {
    REGISTRY
}

static REGISTRY: &[VectorEntry] = &[
    VectorEntry {
        name: "softmax",
        about: "the softmax; its canonical loss is log-loss",
        examples: |classes| Ok(vec![Arc::new(Softmax::new(classes, 1.0)?)]),
    },
    VectorEntry {
        name: "temperature",
        about: "softmax(t z)",
        examples: |classes| {
            let with = |t| Ok(Arc::new(Softmax::new(classes, t)?) as Arc<dyn VectorLink>);
            [0.25, 0.7, 1.4, 4.0].into_iter().map(with).collect()
        },
    },
    VectorEntry {
        name: "floor",
        about: "constant probabilities",
        examples: |classes| {
            Ok(vec![
                Arc::new(Floor::uniform(classes)?),
                Arc::new(Floor::vertex(classes, classes - 1)?),
            ])
        },
    },
    VectorEntry {
        name: "ramp",
        about: "one class against the rest along a monotone curve",
        examples: |classes| {
            let curves = [
                Ramp::between(0.0, 1.0)?,
                Ramp::between(0.2, 0.35)?,
                Ramp::between(0.0, 0.005)?,
                Ramp::new(vec![0.0, 0.1, 0.5, 0.6, 1.0], vec![0.0, 0.4, 0.4, 0.9, 1.0])?,
            ];
            let with = |(i, ramp)| {
                Ok(Arc::new(ClassRamp::new(classes, i % classes, ramp)?) as Arc<dyn VectorLink>)
            };
            curves.into_iter().enumerate().map(with).collect()
        },
    },
    VectorEntry {
        name: "mixture",
        about: "softmaxes, a floor and class ramps together",
        examples: |classes| {
            let ramp = |class, a, b| ClassRamp::new(classes, class, Ramp::between(a, b)?);
            let share = 0.2 / classes as f64;
            Ok(vec![
                Arc::new(Mixture::identity(classes)?),
                Arc::new(Mixture::new(
                    classes,
                    &[(0.4, 1.0), (0.2, 0.25), (0.2, 4.0)],
                    vec![share; classes],
                    Vec::new(),
                )?),
                Arc::new(Mixture::new(
                    classes,
                    &[(0.1, 1.0), (0.3, 2.0)],
                    vec![0.0; classes],
                    vec![(0.4, ramp(0, 0.02, 0.05)?), (0.2, ramp(1, 0.8, 0.995)?)],
                )?),
            ])
        },
    },
];
