//! What one iteration of certified mode can show for itself.

use std::fmt::Write as _;

/// One iteration: the conditions that held, what was claimed, what was observed.
///
/// A quantity that the schedule does not use is NaN (`null` in JSON, empty in CSV).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
#[must_use]
pub struct Certificate {
    /// `t`, from 1.
    pub iteration: usize,
    /// `ℓ_{u_t}(w_t)`.
    pub loss_before: f64,
    /// `ℓ_{u_{t+1}}(w_{t+1})`.
    pub loss_after: f64,
    /// `|g_t| = |μ_y - μ_t|`.
    pub gap: f64,
    /// The smallest gap so far.
    pub least_gap: f64,
    /// Theorem 1: a bound on the smallest gap so far, from the steps taken.
    pub gap_bound: f64,
    /// `η_t`.
    pub eta: f64,
    /// Halvings of the line search.
    pub halvings: usize,
    /// `n_t`.
    pub slope_min: f64,
    /// `N_t`.
    pub slope_max: f64,
    /// `λ_t`: how much of the candidate link was taken.
    pub damping: f64,
    /// `p*_t`.
    pub p_star: f64,
    /// The largest admissible `δ_t`.
    pub delta: f64,
    /// The closeness `ε_t` that was imposed.
    pub epsilon: f64,
    /// `α` that was needed: `ŷ_1 = (1+α) q_1`.
    pub alpha: f64,
    /// `β` that was needed: `ŷ_1 = (1-β) q_1`.
    pub beta: f64,
    /// `A_t`: the decrease by Step 1, exactly.
    pub step_decrease: f64,
    /// `D_t`: what the change of link adds to the loss, exactly (Lemma 1).
    pub link_cost: f64,
    /// The decrease the schedule claims.
    pub claimed: f64,
    /// The decrease that happened, `A_t - D_t`.
    pub observed: f64,
    /// Step 1 lowered the loss by at least `η|g|²/2`.
    pub step_held: bool,
    /// Every new score was in the range of the old link.
    pub in_range: bool,
    /// The new slope bounds contain the old ones.
    pub nested: bool,
    /// The closeness conditions of the schedule held: the slopes and the first value (`paper`,
    /// `repaired`), the budget (`monotone`).
    pub close: bool,
}

/// A value of a certificate, for tables and files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Field {
    /// A count.
    Count(usize),
    /// A number, NaN if the schedule has no such quantity.
    Number(f64),
    /// A condition.
    Flag(bool),
}

impl Certificate {
    /// The decrease fell short of the claim by more than rounding: a few hundred units in the last
    /// place of the loss and of its unit `1/N` (a link is rounded at 1, its support is `1/N` wide).
    pub fn violated(&self) -> bool {
        let rounding = 512.0 * f64::EPSILON * (self.loss_before.abs() + 1.0 / self.slope_max);
        self.observed < self.claimed - rounding
    }

    /// Names and values in the order of the declaration.
    pub fn fields(&self) -> [(&'static str, Field); 24] {
        use Field::{Count, Flag, Number};
        [
            ("iteration", Count(self.iteration)),
            ("loss_before", Number(self.loss_before)),
            ("loss_after", Number(self.loss_after)),
            ("gap", Number(self.gap)),
            ("least_gap", Number(self.least_gap)),
            ("gap_bound", Number(self.gap_bound)),
            ("eta", Number(self.eta)),
            ("halvings", Count(self.halvings)),
            ("slope_min", Number(self.slope_min)),
            ("slope_max", Number(self.slope_max)),
            ("damping", Number(self.damping)),
            ("p_star", Number(self.p_star)),
            ("delta", Number(self.delta)),
            ("epsilon", Number(self.epsilon)),
            ("alpha", Number(self.alpha)),
            ("beta", Number(self.beta)),
            ("step_decrease", Number(self.step_decrease)),
            ("link_cost", Number(self.link_cost)),
            ("claimed", Number(self.claimed)),
            ("observed", Number(self.observed)),
            ("step_held", Flag(self.step_held)),
            ("in_range", Flag(self.in_range)),
            ("nested", Flag(self.nested)),
            ("close", Flag(self.close)),
        ]
    }

    /// Certificates as CSV, one line an iteration, the names first. Numbers are written so that they
    /// read back to the same bits.
    pub fn csv(certificates: &[Self]) -> String {
        let mut out = String::new();
        for (row, certificate) in certificates.iter().enumerate() {
            let fields = certificate.fields();
            if row == 0 {
                let names: Vec<&str> = fields.iter().map(|field| field.0).collect();
                let _ = writeln!(out, "{}", names.join(","));
            }
            for (column, (_, value)) in fields.iter().enumerate() {
                out.push_str(if column > 0 { "," } else { "" });
                write_field(&mut out, *value, "");
            }
            out.push('\n');
        }
        out
    }

    /// Certificates as a JSON array of objects.
    pub fn json(certificates: &[Self]) -> String {
        let mut out = String::from("[");
        for (row, certificate) in certificates.iter().enumerate() {
            out.push_str(if row > 0 { ",\n {" } else { "\n {" });
            for (column, (name, value)) in certificate.fields().iter().enumerate() {
                let _ = write!(out, "{}\"{name}\":", if column > 0 { "," } else { "" });
                write_field(&mut out, *value, "null");
            }
            out.push('}');
        }
        out.push_str("\n]\n");
        out
    }
}

fn write_field(out: &mut String, value: Field, missing: &str) {
    let _ = match value {
        Field::Count(count) => write!(out, "{count}"),
        Field::Number(number) if number.is_finite() => write!(out, "{number:?}"),
        Field::Number(_) => write!(out, "{missing}"),
        Field::Flag(flag) => write!(out, "{flag}"),
    };
}
