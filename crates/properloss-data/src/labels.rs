//! Labels: any two values, or two groups of values, become 0 and 1; three values or more, each a class
//! of its own, become 0, 1, 2, ...

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Position, Result};
use crate::options::ReadOptions;

/// The values of the label that make up each class.
///
/// *Invariant*: both sides have a value, and no value stands on both; or both are empty and three
/// values or more, all different, are classes of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Values of class 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub negative: Vec<String>,
    /// Values of class 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positive: Vec<String>,
    /// The values of three classes or more, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub several: Vec<String>,
}

/// The most classes that a column may have.
pub const MOST_CLASSES: usize = 1000;
/// The most different numbers with fractions that are taken for classes, and not for measurements.
const MOST_FRACTIONS: usize = 20;

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
        Ok(Self { negative, positive, several: Vec::new() })
    }

    /// From three values or more, each a class of its own.
    pub fn several(values: Vec<String>) -> Result<Self> {
        let bad = |value: String, expected: &str| Error::BadOption {
            what: "the list of classes",
            value,
            expected: expected.into(),
        };
        if values.len() < 3 {
            return Err(bad(format!("{} value(s)", values.len()), "three values or more"));
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(value) = values.iter().find(|value| !seen.insert(canonical(value))) {
            return Err(bad(format!("{value:?} twice"), "different values"));
        }
        Ok(Self { negative: Vec::new(), positive: Vec::new(), several: values })
    }

    /// Whether the invariant holds, for classes that were read from a file.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { negative, positive, several } = self.clone();
        if several.is_empty() {
            return Self::new(negative, positive).map(|_| ());
        }
        if let Some(class) = negative.into_iter().chain(positive).next() {
            return Err(Error::ClassOnBothSides { class });
        }
        Self::several(several).map(|_| ())
    }

    /// Even digits negative, odd digits positive: the paper's task on Fashion-MNIST.
    pub fn odd_v_even() -> Self {
        let digits = |start: usize| (start..10).step_by(2).map(|d| d.to_string()).collect();
        Self { negative: digits(0), positive: digits(1), several: Vec::new() }
    }

    /// The names of the two classes: their value, or values joined with `|`.
    pub fn names(&self) -> [String; 2] {
        [self.negative.join("|"), self.positive.join("|")]
    }

    /// The number of the class, or `None` for a value of none. Numbers compare as numbers: `1` is
    /// `1.0`.
    pub fn class_of(&self, value: &str) -> Option<u32> {
        let sides = [(1, &self.positive), (0, &self.negative)];
        let find = |matches: &dyn Fn(&String) -> bool| {
            let side = sides.iter().find(|(_, values)| values.iter().any(matches));
            let own = || self.several.iter().position(matches).map(|class| class as u32);
            side.map(|(class, _)| *class).or_else(own)
        };
        find(&|known| known == value).or_else(|| {
            let value = canonical(value);
            find(&|known| canonical(known) == value)
        })
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.negative.iter().chain(&self.positive).chain(&self.several).cloned().collect()
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
    /// How many were met, the same ones counted again.
    rows: u64,
}

/// Where labels were found, and what was asked for.
pub(crate) struct Wanted<'a> {
    /// The options of the classes.
    pub options: &'a ReadOptions,
    /// The file of the labels.
    pub file: &'a Path,
    /// Their column, if it has a name.
    pub column: Option<&'a str>,
    /// Whether nobody asked for that column.
    pub by_default: bool,
}

impl LabelValues {
    /// The number of the value; values are numbered as they appear.
    pub(crate) fn add(&mut self, value: &str, position: Position) -> usize {
        self.rows += 1;
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
        self.values.len() > MOST_CLASSES
    }

    /// For each value its class, once the classes are known.
    pub(crate) fn classes(&self, classes: &Classes) -> Vec<Option<u32>> {
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

    /// Which values are negative and positive, by the rules of [`ReadOptions::positive`], or each a
    /// class of its own.
    pub(crate) fn resolve(&self, wanted: Wanted<'_>) -> Result<Classes> {
        let Wanted { options, file, column, by_default } = wanted;
        let (negative, positive) = (&options.negative[..], &options.positive[..]);
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
                ([], [_, _, _, ..]) if options.several => {
                    self.check_several(&found, &place, by_default)?;
                    return Classes::several(found);
                }
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

    /// Refuses what is no list of classes: a measurement, an identifier.
    fn check_several(
        &self,
        found: &[String],
        place: &dyn Fn(Option<Position>) -> Place,
        by_default: bool,
    ) -> Result<()> {
        let number = |value: &String| value.parse::<f64>().ok();
        let fractions = found.iter().all(|value| number(value).is_some())
            && found.iter().filter_map(number).any(|number| number.fract() != 0.0);
        let why = if fractions && found.len() > MOST_FRACTIONS {
            "numbers with fractions, as of a measurement"
        } else if found.len() > MOST_CLASSES {
            "more than 1000"
        } else if self.rows < 2 * found.len() as u64 {
            "fewer than two rows a value"
        } else {
            return Ok(());
        };
        Err(Error::NoClasses {
            place: place(None),
            values: found.len(),
            rows: self.rows,
            why,
            by_default,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(values: usize, rows: usize, name: impl Fn(usize) -> String) -> Option<&'static str> {
        let mut labels = LabelValues::default();
        for row in 0..rows {
            labels.add(&name(row % values), Position::Line(row as u64 + 2));
        }
        let found: Vec<String> = (0..values).map(|k| labels.value(k).to_owned()).collect();
        let place = |_: Option<Position>| Place::file(std::path::Path::new("a.csv"));
        match labels.check_several(&found, &place, true) {
            Ok(()) => None,
            Err(Error::NoClasses { why, values: said, .. }) => {
                assert_eq!(said, values);
                Some(why)
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// What is taken for classes: not a measurement, not an identifier.
    #[test]
    fn measurements_and_identifiers_are_no_classes() {
        let text = |k: usize| format!("v{k}");
        assert_eq!(refused(3, 6, text), None);
        assert_eq!(refused(5, 10, text), None);
        assert_eq!(refused(5, 9, text), Some("fewer than two rows a value"));
        assert_eq!(refused(1000, 2000, text), None);
        assert_eq!(refused(1001, 4000, text), Some("more than 1000"));
        let fraction = |k: usize| format!("{k}.5");
        assert_eq!(refused(20, 100, fraction), None);
        assert!(refused(21, 100, fraction).is_some_and(|why| why.contains("fractions")));
        assert_eq!(refused(21, 100, |k| k.to_string()), None);
        // One text among numbers makes them names.
        assert_eq!(refused(21, 100, |k| if k == 3 { "x".into() } else { fraction(k) }), None);
    }
    /// Three or more, each once however it is written, and on no side besides.
    #[test]
    fn several_classes_are_different() {
        let several = |values: &[&str]| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            Classes::several(values).map_err(|error| error.to_string())
        };
        assert_eq!(several(&["a", "b", "c"]).unwrap().all(), ["a", "b", "c"]);
        assert!(several(&["a", "b"]).unwrap_err().contains("2 value(s)"));
        for twice in [["a", "b", "a"], ["1", "2", "1.0"], ["True", "x", "true"]] {
            let said = several(&twice).unwrap_err();
            assert!(said.contains(&format!("{:?} twice", twice[2])), "{said}");
        }
        let good = several(&["a", "b", "c"]).unwrap();
        assert!(good.check().is_ok());
        let sided = Classes { positive: vec!["d".into()], ..good.clone() };
        assert!(matches!(sided.check(), Err(Error::ClassOnBothSides { class }) if class == "d"));
        let few = Classes { several: vec!["a".into(), "b".into()], ..good };
        assert!(few.check().is_err());
        let none = Classes { negative: vec![], positive: vec!["d".into()], several: vec![] };
        assert!(none.check().is_err());
    }

    /// A class is found by its text, else by its number; texts come first.
    #[test]
    fn the_class_of_a_value() {
        let two = Classes::new(vec!["0".into(), "3".into()], vec!["8".into()]).unwrap();
        assert_eq!(
            ["0", "3.0", "8e0", "-0", "x", "80"].map(|value| two.class_of(value)),
            [Some(0), Some(0), Some(1), Some(0), None, None]
        );
        assert_eq!(two.names(), ["0|3", "8"]);
        assert_eq!(two.all(), ["0", "3", "8"]);
        let three = ["x", "1", "TRUE"].map(str::to_owned).to_vec();
        let three = Classes::several(three).unwrap();
        assert_eq!(
            ["x", "1.0", "true", "True", "X", "inf"].map(|value| three.class_of(value)),
            [Some(0), Some(1), Some(2), Some(2), None, None]
        );
        let fashion = Classes::odd_v_even();
        let digits: Vec<_> = (0..11).map(|d| fashion.class_of(&d.to_string())).collect();
        assert_eq!(digits[..10], [Some(0), Some(1)].repeat(5));
        assert_eq!(digits[10], None);
    }

    /// Numbers are sorted by size, texts by code point; one text makes all of them texts.
    #[test]
    fn values_are_numbered_as_they_come_and_sorted_by_size() {
        let of = |values: &[&str]| {
            let mut labels = LabelValues::default();
            let numbers: Vec<usize> =
                values.iter().map(|value| labels.add(value, Position::Line(2))).collect();
            (numbers, labels.sorted())
        };
        assert_eq!(of(&["10", "9", "1e1", "-2"]).0, [0, 1, 0, 2]);
        assert_eq!(of(&["10", "9", "1e1", "-2"]).1, ["-2", "9", "10"]);
        assert_eq!(of(&["10", "9", "x"]).1, ["10", "9", "x"]);
        assert_eq!(of(&["2", "nan", "10"]).1, ["10", "2", "nan"]);
        let mut labels = LabelValues::default();
        for value in ["b", "a", "b", "1.0"] {
            labels.add(value, Position::Line(2));
        }
        assert_eq!((labels.value(0), labels.value(2), labels.rows), ("b", "1.0", 4));
        let named = [vec!["a".to_owned()], vec!["1".to_owned()]];
        assert_eq!(
            [0, 1, 2].map(|k| labels.is_named(k, [&named[0], &named[1]])),
            [false, true, true]
        );
        let classes = Classes::new(vec!["b".into()], vec!["1".into()]).unwrap();
        assert_eq!(labels.classes(&classes), [Some(0), None, Some(1)]);
    }
}
