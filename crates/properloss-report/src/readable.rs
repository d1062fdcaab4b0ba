//! What a model file keeps of the default's cross-validation, under names that a reader knows.

use serde_json::{Map, Value, json};

use crate::text::percent;

/// The parts of `learned`: numbers, and tables of what was tried. What the page says in its section
/// on certificates is left out.
pub(crate) fn readable(learned: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in learned {
        match (key.as_str(), value) {
            ("certificate" | "guarantee" | "log_loss_bound", _) => {}
            ("c", value) => put(&mut out, "C, averaged", value),
            ("tau", value) => put(&mut out, "tau of the link", value),
            ("slope_ratio", value) => put(&mut out, "largest slope ratio of the link", value),
            ("refit_share", value) => put(&mut out, "share of the refitted weights", value),
            ("stack_share", value) => put(&mut out, "share of the stacked weights", value),
            ("ramp_share", value) => put(&mut out, "share of the ramp", value),
            ("held_out_cost", value) => put(&mut out, "held-out cost of the link, nats", value),
            ("held_out_log_loss", Value::Array(stages)) => {
                // Several classes have a stage more.
                let named: &[&str] = match stages.len() {
                    4 => &["path", "path and link", "with the second fit", "result"],
                    _ => &["path", "path and link", "result"],
                };
                for (stage, value) in named.iter().zip(stages) {
                    put(&mut out, &format!("held-out log-loss, {stage}"), value);
                }
            }
            ("scaling_weights", Value::Array(pairs)) => {
                let share = |pair: &Value| {
                    let (scaling, weight) = (pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?);
                    Some(format!("{} {}", scaling_name(scaling), percent(weight)))
                };
                let shares: Vec<String> = pairs.iter().filter_map(share).collect();
                put(&mut out, "columns", json!(shares.join(", ")));
            }
            ("path", value) => put(&mut out, "Regularisation", renamed(value)),
            ("links" | "ratios", value) => put(&mut out, "Links", value),
            (_, value) => put(&mut out, &key, value),
        }
    }
    out
}

fn put(out: &mut Map<String, Value>, key: &str, value: Value) {
    out.insert(key.to_owned(), value);
}

/// The strength is called C wherever users meet it.
fn renamed(path: Value) -> Value {
    let Value::Array(points) = path else { return path };
    let point = |point: Value| match point {
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(k, v)| (if k == "c" { "C".into() } else { k }, v)).collect(),
        ),
        other => other,
    };
    Value::Array(points.into_iter().map(point).collect())
}

/// How the columns were scaled: by their deviations to this power.
pub(crate) fn scaling_name(power: f64) -> String {
    match power {
        1.0 => "standardised".to_owned(),
        0.5 => "half-way".to_owned(),
        0.0 => "as they are".to_owned(),
        other => format!("scaled by {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_told_what_was_tried() {
        let learned = json!({
            "c": 0.5, "certificate": {"rms": 1}, "held_out_log_loss": [3, 2, 1],
            "scaling_weights": [[1.0, 0.75], [0.0, 0.25]], "path": [{"c": 1.0, "weight": 1.0}],
        });
        let Value::Object(learned) = learned else { panic!("an object") };
        let expected = json!({
            "C, averaged": 0.5,
            "held-out log-loss, path": 3,
            "held-out log-loss, path and link": 2,
            "held-out log-loss, result": 1,
            "columns": "standardised 75.0 %, as they are 25.0 %",
            "Regularisation": [{"C": 1.0, "weight": 1.0}],
        });
        assert_eq!(Value::Object(readable(learned)), expected);
    }

    #[test]
    fn several_classes_have_a_stage_more() {
        let learned = json!({"held_out_log_loss": [4, 3, 2, 1], "stack_share": 0.5});
        let Value::Object(learned) = learned else { panic!("an object") };
        let told = readable(learned);
        assert_eq!(told["held-out log-loss, with the second fit"], 2);
        assert_eq!(told["held-out log-loss, result"], 1);
        assert_eq!(told["share of the stacked weights"], 0.5);
    }
}
