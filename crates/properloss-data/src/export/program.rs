//! A function of a score as a straight-line program: what every target language is written from.
//!
//! Both sides of a [`Op::Select`] may be computed, so no operation may fail wherever it stands:
//! exponents are below 709, logarithms and divisors are positive.

use properloss::link::LinkSpec;

/// A number that the program computes: its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(pub usize);

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Negative,
    Absolute,
    Exponential,
    Logarithm,
    Root,
}

/// A function of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Least,
    Largest,
}

/// One step of a program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    /// The argument of the program.
    Score,
    /// An argument by its name in the target.
    Given(String),
    /// A number.
    Constant(f64),
    /// A function of an earlier value.
    Unary(Unary, Value),
    /// A function of two earlier values.
    Binary(Binary, Value, Value),
    /// `then` if `left < right`, else `other`.
    Select { left: Value, right: Value, then: Value, other: Value },
    /// Straight lines through `(x_k, y_k)`; `at` lies between the first and the last `x`.
    Interpolate { at: Value, x: Vec<f64>, y: Vec<f64>, along: Option<Along> },
}

/// A value that an argument rises with: `at = u(score)`. Knots that crowd in `at` may lie apart in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Along {
    pub score: Value,
    pub u: LinkSpec,
}

/// A list of steps; each refers to earlier ones only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    ops: Vec<Op>,
}

/// A probability and its complement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub p: Value,
    pub q: Value,
}

impl Program {
    /// The steps, in order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Whether a step looks into a table.
    pub fn interpolates(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Interpolate { .. }))
    }

    pub fn op(&self, value: Value) -> &Op {
        &self.ops[value.0]
    }

    fn push(&mut self, op: Op) -> Value {
        self.ops.push(op);
        Value(self.ops.len() - 1)
    }

    pub fn score(&mut self) -> Value {
        self.push(Op::Score)
    }

    pub fn given(&mut self, name: String) -> Value {
        self.push(Op::Given(name))
    }

    pub fn constant(&mut self, value: f64) -> Value {
        self.push(Op::Constant(value))
    }

    pub fn negative(&mut self, a: Value) -> Value {
        self.push(Op::Unary(Unary::Negative, a))
    }

    pub fn absolute(&mut self, a: Value) -> Value {
        self.push(Op::Unary(Unary::Absolute, a))
    }

    pub fn exp(&mut self, a: Value) -> Value {
        self.push(Op::Unary(Unary::Exponential, a))
    }

    pub fn ln(&mut self, a: Value) -> Value {
        self.push(Op::Unary(Unary::Logarithm, a))
    }

    pub fn sqrt(&mut self, a: Value) -> Value {
        self.push(Op::Unary(Unary::Root, a))
    }

    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Binary(Binary::Add, a, b))
    }

    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Binary(Binary::Subtract, a, b))
    }

    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Binary(Binary::Multiply, a, b))
    }

    pub fn div(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Binary(Binary::Divide, a, b))
    }

    pub fn least(&mut self, a: Value, b: f64) -> Value {
        let b = self.constant(b);
        self.push(Op::Binary(Binary::Least, a, b))
    }

    pub fn largest(&mut self, a: Value, b: Value) -> Value {
        self.push(Op::Binary(Binary::Largest, a, b))
    }

    /// `a` kept within `[low, high]`.
    pub fn clamp(&mut self, a: Value, low: f64, high: f64) -> Value {
        let a = self.least(a, high);
        let low = self.constant(low);
        self.largest(a, low)
    }

    pub fn select(&mut self, left: Value, right: Value, then: Value, other: Value) -> Value {
        self.push(Op::Select { left, right, then, other })
    }

    pub fn interpolate(&mut self, at: Value, x: &[f64], y: &[f64]) -> Value {
        self.push(Op::Interpolate { at, x: x.to_vec(), y: y.to_vec(), along: None })
    }

    /// The same where `at` is `u(score)`.
    pub fn interpolate_along(&mut self, at: Value, x: &[f64], y: &[f64], along: Along) -> Value {
        self.push(Op::Interpolate { at, x: x.to_vec(), y: y.to_vec(), along: Some(along) })
    }

    /// `c_0 + c_1 t + c_2 t² + ...` by Horner's rule; there is at least one coefficient.
    pub fn polynomial(&mut self, coefficients: &[f64], t: Value) -> Value {
        let (last, rest) = (coefficients.len() - 1, coefficients);
        let mut sum = self.constant(rest[last]);
        for &c in rest[..last].iter().rev() {
            let product = self.mul(sum, t);
            let c = self.constant(c);
            sum = self.add(product, c);
        }
        sum
    }

    /// The values that a step refers to.
    pub fn arguments(op: &Op) -> Vec<Value> {
        match *op {
            Op::Score | Op::Given(_) | Op::Constant(_) => Vec::new(),
            Op::Unary(_, a) | Op::Interpolate { at: a, .. } => vec![a],
            Op::Binary(_, a, b) => vec![a, b],
            Op::Select { left, right, then, other } => vec![left, right, then, other],
        }
    }
}

/// `(y_{k+1} - y_k) / (x_{k+1} - x_k)` of every piece, finite even where two knots all but meet.
pub(crate) fn slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let slope = |k: usize| ((y[k + 1] - y[k]) / (x[k + 1] - x[k])).min(f64::MAX);
    (0..x.len() - 1).map(slope).collect()
}
