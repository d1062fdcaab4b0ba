//! Labels: any two values, or two groups of values, become 0 and 1.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Position, Result};

/// The values of the label that make up each class.
///
/// *Invariant*: both sides have a value, and no value stands on both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Values of class 0.
    pub negative: Vec<String>,
    /// Values of class 1.
    pub positive: Vec<String>,
}

impl Classes {
    /// From the values of each side.
    pub fn new(negative: Vec<String>, positive: Vec<String>) -> Result<Self> {
        if negative.is_empty() || positive.is_empty() {
            return Err(Error::BadOption {
                what: "the list of label values of a class",
                value: "empty".into(),
                expected: "one value or more".into(),
            });
        }
        if let Some(class) = negative.iter().find(|n| positive.iter().any(|p| same(n, p))) {
            return Err(Error::ClassOnBothSides { class: class.clone() });
        }
        Ok(Self { negative, positive })
    }

    /// Even digits negative, odd digits positive: the paper's task on Fashion-MNIST.
    pub fn odd_v_even() -> Self {
        let digits = |start: usize| (start..10).step_by(2).map(|d| d.to_string()).collect();
        Self { negative: digits(0), positive: digits(1) }
    }

    /// The names of the two classes: their value, or values joined with `|`.
    pub fn names(&self) -> [String; 2] {
        [self.negative.join("|"), self.positive.join("|")]
    }

    /// 0, 1, or `None` for a value of neither class. Numbers compare as numbers: `1` is `1.0`.
    pub fn class_of(&self, value: &str) -> Option<u8> {
        let sides = [(1, &self.positive), (0, &self.negative)];
        let find = |matches: &dyn Fn(&String) -> bool| {
            sides.iter().find(|(_, values)| values.iter().any(matches)).map(|(class, _)| *class)
        };
        find(&|known| known == value).or_else(|| {
            let value = canonical(value);
            find(&|known| canonical(known) == value)
        })
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.negative.iter().chain(&self.positive).cloned().collect()
    }
}

/// Whether two labels are the same text or the same number.
fn same(a: &str, b: &str) -> bool {
    a == b || canonical(a) == canonical(b)
}

/// One writing for all writings of a number or a truth value; other texts stay.
fn canonical(value: &str) -> Cow<'_, str> {
    match value.parse::<f64>() {
        // Adding 0 takes the sign from -0.
        Ok(number) if number.is_finite() => (number + 0.0).to_string().into(),
        _ => match value {
            "True" | "TRUE" => "true".into(),
            "False" | "FALSE" => "false".into(),
            _ => value.into(),
        },
    }
}

/// The different values of a label column, met one after the other.
#[derive(Debug, Default)]
pub(crate) struct LabelValues {
    /// In order of appearance, with the position of the first.
    values: Vec<(String, Position)>,
    /// Every writing (`1`, `1.0`), and its canonical form, to its value.
    writings: HashMap<String, usize>,
}

impl LabelValues {
    /// The number of the value; values are numbered as they appear.
    pub(crate) fn add(&mut self, value: &str, position: Position) -> usize {
        if let Some(&number) = self.writings.get(value) {
            return number;
        }
        let canonical = canonical(value).into_owned();
        let number = *self.writings.entry(canonical).or_insert(self.values.len());
        if number == self.values.len() {
            self.values.push((value.to_owned(), position));
        }
        self.writings.insert(value.to_owned(), number);
        number
    }

    /// The value of that number.
    pub(crate) fn value(&self, number: usize) -> &str {
        &self.values[number].0
    }

    /// Whether the value stands in one of the two lists.
    pub(crate) fn is_named(&self, number: usize, lists: [&Vec<String>; 2]) -> bool {
        let value = &self.values[number].0;
        lists.iter().any(|list| list.iter().any(|named| same(named, value)))
    }

    /// Whether there are so many values that reading on is pointless.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.values.len() > 1000
    }

    /// For each value its class, once the classes are known.
    pub(crate) fn classes(&self, classes: &Classes) -> Vec<Option<u8>> {
        self.values.iter().map(|(value, _)| classes.class_of(value)).collect()
    }

    /// The values in order: numbers by size, texts by code point.
    fn sorted(&self) -> Vec<String> {
        let mut values: Vec<String> = self.values.iter().map(|(value, _)| value.clone()).collect();
        let numbers: Option<Vec<f64>> = values.iter().map(|v| v.parse().ok()).collect();
        if numbers.is_some_and(|numbers| numbers.iter().all(|n| !n.is_nan())) {
            let number = |v: &String| v.parse::<f64>().unwrap_or(f64::NAN);
            values.sort_by(|a, b| number(a).total_cmp(&number(b)));
        } else {
            values.sort();
        }
        values
    }

    /// Which values are negative and positive, by the rules of [`crate::ReadOptions::positive`].
    pub(crate) fn resolve(
        &self,
        negative: &[String],
        positive: &[String],
        file: &Path,
        column: Option<&str>,
        by_default: bool,
    ) -> Result<Classes> {
        let place = |position: Option<Position>| Place {
            file: file.to_path_buf(),
            position,
            column: column.map(str::to_owned),
        };
        let found = self.sorted();
        if found.is_empty() {
            return Err(Error::NoRows { file: file.to_path_buf() });
        }
        for class in negative.iter().chain(positive) {
            if !found.iter().any(|value| same(value, class)) {
                let class = class.clone();
                return Err(Error::NoSuchClass { place: place(None), class, found });
            }
        }
        let (negative, positive) = if negative.is_empty() || positive.is_empty() {
            if let [class] = found.as_slice() {
                return Err(Error::OneClass { place: place(None), class: class.clone() });
            }
            let named = if positive.is_empty() { negative } else { positive };
            let rest: Vec<String> =
                found.iter().filter(|v| !named.iter().any(|n| same(n, v))).cloned().collect();
            match (named, rest.as_slice()) {
                // Neither side is named: two values, the later one positive.
                ([], [first, second]) => (vec![first.clone()], vec![second.clone()]),
                ([], _) | (_, [_, _, ..]) => return Err(self.third_class(&place, by_default)),
                (_, []) => {
                    let class = named.join("|");
                    return Err(Error::OneClass { place: place(None), class });
                }
                (_, [_]) if positive.is_empty() => (named.to_vec(), rest),
                (_, [_]) => (rest, named.to_vec()),
            }
        } else {
            (negative.to_vec(), positive.to_vec())
        };
        Classes::new(negative, positive)
    }

    fn third_class(&self, place: &dyn Fn(Option<Position>) -> Place, by_default: bool) -> Error {
        let value = |k: usize| self.values[k].0.clone();
        Error::TooManyClasses {
            place: place(Some(self.values[2].1)),
            classes: Box::new([value(0), value(1), value(2)]),
            by_default,
        }
    }
}
