//! The weights of a linear score, in units that can be compared.

use properloss::design::FittedScaling;

use crate::figure::{Figure, table};
use crate::svg::bars;
use crate::text::{figure_name, name, shown};

/// Features that are shown.
const FEATURES: usize = 30;

/// A linear score.
pub struct Linear<'a> {
    /// One a feature.
    pub weights: &'a [f64],
    /// Added to them.
    pub intercept: f64,
    /// How the features were scaled at training.
    pub scaling: &'a FittedScaling,
    /// The name of a feature.
    pub name: &'a dyn Fn(usize) -> String,
}

/// The features that move `what` most, and the table of them.
pub fn weights_figure(
    linear: &Linear<'_>,
    deviations: Option<&[f64]>,
    id: &str,
    title: &str,
    what: &str,
) -> (Figure, String) {
    let fitted: Option<Vec<f64>> = match linear.scaling {
        FittedScaling::Standardise { factor, .. } => {
            Some(factor.iter().map(|f| if *f > 0.0 { 1.0 / f } else { 0.0 }).collect())
        }
        _ => None,
    };
    let weights = linear.weights;
    let deviations = match deviations {
        Some(deviations) if deviations.len() == weights.len() => Some(deviations.to_vec()),
        _ => fitted,
    };
    let unit = if deviations.is_some() { "weight per deviation" } else { "weight per unit" };
    let effect: Vec<f64> = match &deviations {
        Some(deviations) => weights.iter().zip(deviations).map(|(w, d)| w * d).collect(),
        None => weights.to_vec(),
    };
    let mut order: Vec<usize> = (0..effect.len()).collect();
    order.sort_by(|&a, &b| effect[b].abs().total_cmp(&effect[a].abs()).then(a.cmp(&b)));
    let more = order.len().saturating_sub(FEATURES);
    order.truncate(FEATURES);
    let entries: Vec<(String, f64)> =
        order.iter().map(|&j| (figure_name(&(linear.name)(j)), effect[j])).collect();
    let mut words = format!(
        "How far {what} moves when a feature moves by one standard deviation of these data (or by \
         one unit, where that is not known). Features that move together share their weight, so a \
         short bar is no proof that a feature does not matter."
    );
    if more > 0 {
        words.push_str(&format!(" The {FEATURES} largest are shown; {more} more are smaller."));
    }
    let svg = bars(title, unit, &format!("{title}: {words}"), &entries);
    let mut rows = vec![vec!["(intercept)".to_owned(), shown(linear.intercept), String::new()]];
    let row = |&j: &usize| vec![name(&(linear.name)(j)), shown(weights[j]), shown(effect[j])];
    rows.extend(order.iter().map(row));
    let head = ["feature".to_owned(), "weight".to_owned(), unit.to_owned()];
    let figure = Figure::picture(id, title, &words, svg, Vec::new());
    (figure, table(title, &head, &rows))
}
