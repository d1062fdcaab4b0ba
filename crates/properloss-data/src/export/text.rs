//! Programs as text: what the languages share.

use super::program::{Binary, Op, Program, Unary, Value};

/// How a language writes the steps of a program.
pub(crate) trait Language {
    fn constant(&self, value: f64) -> String {
        format!("{value:?}")
    }
    /// What it calls its functions.
    fn functions(&self) -> Functions;
    fn unary(&self, op: Unary, a: &str) -> String {
        let functions = self.functions();
        match op {
            Unary::Negative => format!("(-{a})"),
            Unary::Absolute => format!("{}({a})", functions.absolute),
            Unary::Exponential => self.exponential(a),
            Unary::Logarithm => format!("{}({a})", functions.logarithm),
            Unary::Root => format!("{}({a})", functions.root),
        }
    }
    fn exponential(&self, a: &str) -> String {
        format!("exp({a})")
    }
    fn least(&self, a: &str, b: &str) -> String {
        match self.functions().least_and_largest {
            Some([least, _]) => format!("{least}({a}, {b})"),
            None => self.select(a, b, a, b),
        }
    }
    fn largest(&self, a: &str, b: &str) -> String {
        match self.functions().least_and_largest {
            Some([_, largest]) => format!("{largest}({a}, {b})"),
            None => self.select(b, a, a, b),
        }
    }
    /// `then` if `left < right`, else `other`.
    fn select(&self, left: &str, right: &str, then: &str, other: &str) -> String;
    /// The call that interpolates; tables it needs are kept by the language.
    fn interpolate(&mut self, at: &str, x: &[f64], y: &[f64]) -> String;
    /// The name of an intermediate value.
    fn name(&self, number: usize) -> String;
}

/// The names of functions.
pub(crate) struct Functions {
    pub absolute: &'static str,
    pub logarithm: &'static str,
    pub root: &'static str,
    /// Of two numbers; without them one is selected.
    pub least_and_largest: Option<[&'static str; 2]>,
}

/// A program as assignments and the expression of its result.
pub(crate) struct Lines {
    /// Names and expressions, in order.
    pub assignments: Vec<(String, String)>,
    /// The result.
    pub result: String,
}

/// The same with several results.
pub(crate) struct ManyLines {
    /// Names and expressions, in order.
    pub assignments: Vec<(String, String)>,
    /// For each assignment how many lead to it, one after the other: those of a level need only those
    /// of earlier ones.
    pub levels: Vec<usize>,
    /// The results.
    pub results: Vec<String>,
}

/// The assignments that lead to `result`; the score has the name `score`. A value that is used once
/// stands where it is used.
pub(crate) fn lines(
    program: &Program,
    result: Value,
    score: &str,
    language: &mut dyn Language,
) -> Lines {
    let ManyLines { assignments, mut results, .. } = lines_of(program, &[result], score, language);
    Lines { assignments, result: results.remove(0) }
}

/// The assignments that lead to all `results`.
pub(crate) fn lines_of(
    program: &Program,
    results: &[Value],
    score: &str,
    language: &mut dyn Language,
) -> ManyLines {
    let uses = uses(program, results);
    let mut texts: Vec<String> = vec![String::new(); program.ops().len()];
    let mut depths: Vec<usize> = vec![0; program.ops().len()];
    let (mut assignments, mut levels) = (Vec::new(), Vec::new());
    for (i, op) in program.ops().iter().enumerate() {
        if uses[i] == 0 {
            continue;
        }
        let text = |value: Value| texts[value.0].as_str();
        let expression = match op {
            Op::Score => score.to_owned(),
            Op::Given(name) => name.clone(),
            Op::Constant(value) => language.constant(*value),
            Op::Unary(op, a) => language.unary(*op, text(*a)),
            Op::Binary(op, a, b) => {
                let (a, b) = (text(*a), text(*b));
                match op {
                    Binary::Add => format!("({a} + {b})"),
                    Binary::Subtract => format!("({a} - {b})"),
                    Binary::Multiply => format!("({a} * {b})"),
                    Binary::Divide => format!("({a} / {b})"),
                    Binary::Least => language.least(a, b),
                    Binary::Largest => language.largest(a, b),
                }
            }
            Op::Select { left, right, then, other } => {
                language.select(text(*left), text(*right), text(*then), text(*other))
            }
            Op::Interpolate { at, x, y, .. } => language.interpolate(text(*at), x, y),
        };
        depths[i] = Program::arguments(op).iter().map(|a| depths[a.0]).max().unwrap_or(0);
        let leaf = matches!(op, Op::Score | Op::Given(_) | Op::Constant(_));
        // What a comparison repeats gets a name, too.
        let last = results.len() == 1 && i == results[0].0;
        let shared = uses[i] > 1 || (repeats(program, Value(i)) && !last);
        texts[i] = if leaf || !shared {
            expression
        } else {
            let name = language.name(assignments.len() + 1);
            assignments.push((name.clone(), expression));
            levels.push(depths[i]);
            depths[i] += 1;
            name
        };
    }
    let results = results.iter().map(|value| texts[value.0].clone()).collect();
    ManyLines { assignments, levels, results }
}

/// How often each value is used on the way to the results.
fn uses(program: &Program, results: &[Value]) -> Vec<usize> {
    let mut uses = vec![0; program.ops().len()];
    results.iter().for_each(|result| uses[result.0] += 1);
    for i in (0..uses.len()).rev() {
        if uses[i] == 0 {
            continue;
        }
        for argument in Program::arguments(program.op(Value(i))) {
            uses[argument.0] += 1;
        }
    }
    uses
}

/// Whether a value is an argument of a step whose text may repeat it: a minimum, a maximum or an
/// interpolation, written as a case distinction.
fn repeats(program: &Program, value: Value) -> bool {
    program.ops().iter().any(|op| match op {
        Op::Binary(Binary::Least | Binary::Largest, a, b) => *a == value || *b == value,
        Op::Interpolate { at, .. } => *at == value,
        _ => false,
    })
}

/// The terms of a score in the order in which the engine adds them: eight lanes, then the rest.
pub(crate) fn sum_like_the_engine(terms: &[String]) -> String {
    let full = terms.len() / 8 * 8;
    let mut sum = String::new();
    if full > 0 {
        let lane = |l: usize| -> String {
            let parts: Vec<&str> = (l..full).step_by(8).map(|j| terms[j].as_str()).collect();
            format!("({})", parts.join(" + "))
        };
        sum = format!(
            "((({} + {}) + ({} + {})) + (({} + {}) + ({} + {})))",
            lane(0),
            lane(4),
            lane(2),
            lane(6),
            lane(1),
            lane(5),
            lane(3),
            lane(7)
        );
    }
    for term in &terms[full..] {
        sum = if sum.is_empty() { term.clone() } else { format!("{sum} + {term}") };
    }
    sum
}

/// Numbers as the lines of a list, at most 100 characters wide.
pub(crate) fn wrapped(items: impl IntoIterator<Item = String>, indent: &str) -> String {
    let mut text = String::new();
    let mut width = 101;
    for item in items {
        if width + item.len() + 2 > 100 {
            text.push('\n');
            text.push_str(indent);
            width = indent.len();
        } else {
            text.push(' ');
            width += 1;
        }
        width += item.len() + 1;
        text.push_str(&item);
        text.push(',');
    }
    text
}
