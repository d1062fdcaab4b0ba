//! The verdict in words, and the numbers that it is made of.
//!
//! `p` is the share of redraws of calibrated forecasts that look at least as miscalibrated
//! ([`crate::band`]), `share` the part of the uncertainty that recalibration would gain back
//! (`miscalibration / uncertainty`).

use crate::evaluation::{Difference, Evaluation};
use crate::quality::Forecast;
use crate::text::{name, percent, shown};

/// Below this probability a miscalibration is not put down to chance.
const UNUSUAL: f64 = 0.05;
/// Shares of the uncertainty from which a miscalibration is called small, then large.
const SMALL: f64 = 0.01;
const LARGE: f64 = 0.05;

/// How far the probabilities can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nothing beyond chance.
    Calibrated,
    /// Beyond chance, and too small to matter.
    Nearly,
    /// Beyond chance, and worth a recalibration.
    Off,
    /// Not to be taken for probabilities.
    FarOff,
}

/// From the p-value and the share.
pub fn trust(p_value: f64, share: f64) -> Trust {
    if p_value > UNUSUAL {
        Trust::Calibrated
    } else if share < SMALL {
        Trust::Nearly
    } else if share < LARGE {
        Trust::Off
    } else {
        Trust::FarOff
    }
}

/// Of a forecast.
pub fn of_forecast(forecast: &Forecast) -> Trust {
    let corp = &forecast.evaluation.summary.brier;
    trust(forecast.band.p_value, corp.miscalibration / corp.uncertainty)
}

impl Trust {
    /// The first sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Calibrated => "These probabilities can be trusted as far as the data can tell.",
            Self::Nearly => {
                "These probabilities can be trusted: they are off by more than chance, but by little."
            }
            Self::Off => {
                "These probabilities are somewhat off: recalibrate before relying on their values."
            }
            Self::FarOff => {
                "These probabilities should not be trusted as they are: recalibrate them."
            }
        }
    }

    /// The same in a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Calibrated => "calibrated",
            Self::Nearly => "nearly calibrated",
            Self::Off => "somewhat off",
            Self::FarOff => "far off",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Calibrated | Self::Nearly => "good",
            Self::Off => "fair",
            Self::FarOff => "bad",
        }
    }
}

/// The verdict on one model, as HTML.
pub fn html(forecast: &Forecast, alone: bool) -> String {
    let (evaluation, band) = (&forecast.evaluation, &forecast.band);
    let corp = &evaluation.summary.brier;
    let share = corp.miscalibration / corp.uncertainty;
    let trust = of_forecast(forecast);
    let whose = if alone { String::new() } else { format!("{}: ", name(&forecast.name)) };
    let chance = if trust == Trust::Calibrated {
        format!(
            "no more than chance would make of calibrated forecasts on {} rows (p = {:.2}; up to {} \
             would go unnoticed)",
            evaluation.rows,
            band.p_value,
            percent(band.by_chance[1] / corp.uncertainty),
        )
    } else {
        format!(
            "more than chance makes of calibrated forecasts (p = {:.3}; chance alone: {})",
            band.p_value,
            percent(band.by_chance[0] / corp.uncertainty),
        )
    };
    format!(
        "<div class=\"verdict {}\"><p class=\"first\">{whose}{}</p>\n\
         <p>Recalibrating on these data would gain {} of the uncertainty, {chance}. On average {} was \
         forecast and {} happened. {}</p>\n{}</div>\n",
        trust.class(),
        trust.sentence(),
        percent(share),
        percent(evaluation.mean_forecast),
        percent(evaluation.base_rate()),
        where_off(forecast) + &separation(evaluation),
        numbers(evaluation),
    )
}

/// How much of the outcome is explained.
fn separation(evaluation: &Evaluation) -> String {
    let corp = &evaluation.summary.brier;
    let explained = corp.discrimination / corp.uncertainty;
    let auc = evaluation.summary.auc;
    let word = match explained {
        e if e < 0.02 => "They hardly tell the classes apart",
        e if e < 0.2 => "They tell the classes apart to some extent",
        e if e < 0.6 => "They tell the classes apart well",
        _ => "They tell the classes apart very well",
    };
    format!(
        "{word}: recalibrated, they explain {} of the uncertainty (AUC {auc:.4}).",
        percent(explained)
    )
}

/// The forecasts furthest outside the band, if any.
fn where_off(forecast: &Forecast) -> String {
    let (evaluation, band) = (&forecast.evaluation, &forecast.band);
    let outside = |k: usize| {
        let happened = evaluation.recalibrated(band.forecast[k]);
        (band.low[k] - happened).max(happened - band.high[k])
    };
    let worst = (0..band.forecast.len()).max_by(|&a, &b| outside(a).total_cmp(&outside(b)));
    match worst {
        Some(k) if band.p_value <= UNUSUAL && outside(k) > 0.0 => format!(
            "Furthest from the band: where {} is forecast, {} happened. ",
            percent(band.forecast[k]),
            percent(evaluation.recalibrated(band.forecast[k])),
        ),
        _ => String::new(),
    }
}

fn numbers(evaluation: &Evaluation) -> String {
    let (summary, corp) = (&evaluation.summary, &evaluation.summary.brier);
    let mut out = String::from("<dl class=\"numbers\">");
    for (term, value) in [
        ("AUC", summary.auc),
        ("log-loss", summary.log_loss),
        ("Brier score", corp.brier),
        ("miscalibration", corp.miscalibration),
        ("discrimination", corp.discrimination),
        ("uncertainty", corp.uncertainty),
        ("ECE, 15 bins", summary.ece),
        ("accuracy at 1/2", summary.accuracy),
    ] {
        out.push_str(&format!("<div><dt>{term}</dt><dd>{}</dd></div>", shown(value)));
    }
    out + "</dl>\n"
}

/// Which of two models is better on the same rows.
pub fn comparison(forecasts: &[Forecast], difference: Option<Difference>) -> String {
    let [first, second] = forecasts else { return String::new() };
    let names = [name(&first.name), name(&second.name)];
    let words = match difference {
        None => "The two models were measured on different rows: compare their numbers with care."
            .to_owned(),
        Some(Difference { mean, error }) => {
            let better = if mean < 0.0 { &names[1] } else { &names[0] };
            let amount =
                format!("{} nats a row (standard error {})", shown(mean.abs()), shown(error));
            if mean.abs() > 2.0 * error {
                format!(
                    "{better} is better: its log-loss is lower by {amount}, more than two standard errors."
                )
            } else {
                format!(
                    "The two cannot be told apart on these rows: their log-losses differ by {amount}."
                )
            }
        }
    };
    format!("<p class=\"comparison\">{words}</p>\n")
}

#[cfg(test)]
mod tests {
    use super::{Trust, trust};

    #[test]
    fn chance_comes_first_then_the_size() {
        assert_eq!(trust(0.3, 0.2), Trust::Calibrated);
        assert_eq!(trust(0.01, 0.005), Trust::Nearly);
        assert_eq!(trust(0.01, 0.02), Trust::Off);
        assert_eq!(trust(0.01, 0.2), Trust::FarOff);
    }
}
