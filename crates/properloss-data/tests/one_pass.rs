//! A table of numbers is read once. What comes out, examples or an error, is what two passes make of the same file, and
//! those are what [`Scan`] runs.

mod common;

use common::strings;
use proptest::prelude::*;
use proptest::sample::select;

use properloss_data::stream::Scan;
use properloss_data::{Examples, Missing, ReadOptions, Result, Source, Storage, read_examples};

/// Cells that are numbers however they are written.
const NUMBERS: [&str; 8] = ["0", "-1.5", "2e3", " 7", "-0", "1e-310", "0.1", "16777217"];
/// Cells of which one ends the first pass's hope.
const OTHERS: [&str; 9] =
    ["", "NA", "red", "true", "2024-02-29", "1e300", "inf", "-3", "9007199254740993"];

fn both(text: &str, options: &ReadOptions) -> (Result<Examples>, Result<Examples>) {
    let source = Source::memory("t.csv", text.as_bytes());
    let two = Scan::new(&source, options).and_then(|scan| scan.read(&source, options));
    (read_examples(&source, options), two)
}

fn options() -> impl Strategy<Value = ReadOptions> {
    let missing = select(vec![Missing::Error, Missing::Mean, Missing::Drop]);
    let parts = (missing, any::<[bool; 5]>(), 0..4usize);
    parts.prop_map(|(missing, [weight, single, several, ignore, declared], named)| {
        let mut options = ReadOptions::default().with_label(Some("y".into())).with_missing(missing);
        if weight {
            options = options.with_weight(Some("w".into()));
        }
        if single {
            options = options.with_storage(Storage::F32);
        }
        if several {
            options = options.with_several_classes();
        }
        if ignore {
            options = options.with_ignore(strings(&["b"]));
        }
        if declared {
            options = options.with_categorical(strings(&["a"]));
        }
        if named & 1 == 1 {
            options = options.with_negative(strings(&["0"]));
        }
        if named & 2 == 2 {
            options = options.with_positive(strings(&["1", "two"]));
        }
        options
    })
}

/// Columns a, b, w and the label y; up to two cells are not plain numbers.
fn text() -> impl Strategy<Value = String> {
    let row = (select(&NUMBERS[..]), select(&NUMBERS[..]), select(vec!["1", "2.5", "0"]));
    let labels = select(vec![vec!["0", "1"], vec!["0", "1", "1.0"], vec!["0", "1", "two"]]);
    let rows = prop::collection::vec((row, any::<prop::sample::Index>()), 4..12);
    let odd = (any::<prop::sample::Index>(), 0..4usize, select(&OTHERS[..]));
    (rows, labels, prop::collection::vec(odd, 0..3)).prop_map(|(rows, labels, odd)| {
        let cells = rows.iter().map(|((a, b, w), label)| [*a, *b, *w, *label.get(&labels)]);
        let mut cells: Vec<[&str; 4]> = cells.collect();
        for (row, column, cell) in odd {
            let row = row.index(cells.len());
            cells[row][column] = cell;
        }
        let lines: Vec<String> = cells.iter().map(|row| row.join(",")).collect();
        format!("a,b,w,y\n{}\n", lines.join("\n"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_pass_reads_what_two_do(text in text(), options in options()) {
        match both(&text, &options) {
            (Ok(one), Ok(two)) => prop_assert_eq!(one, two),
            (Err(one), Err(two)) => prop_assert_eq!(one.to_string(), two.to_string()),
            (one, two) => prop_assert!(false, "{one:?}\n{two:?}"),
        }
    }
}

/// Values, labels, weights and what is said of them, by hand.
#[test]
fn numbers_labels_and_weights_of_one_pass() {
    let text = "a,b,w,y\n1,-0.5,1,no\n2, 7,0,yes\n3,1e-310,2.5,yes\n4,4,1,maybe\n5,5,1,no\n";
    let options = ReadOptions::default()
        .with_weight(Some("w".into()))
        .with_negative(strings(&["no"]))
        .with_positive(strings(&["yes"]));
    let (one, two) = both(text, &options);
    let data = one.unwrap().two().unwrap();
    assert_eq!(data, two.unwrap().two().unwrap());
    assert_eq!(common::rows(&data.features), [[1.0, -0.5], [3.0, 1e-310], [5.0, 5.0]]);
    assert_eq!((data.labels, data.weights), (vec![0, 1, 0], Some(vec![1.0, 2.5, 1.0])));
    assert_eq!((data.description.rows, data.description.dropped_other_class), (3, 1));
    assert_eq!((data.description.format.as_str(), data.description.features), ("csv", 2));

    let (one, _) = both("a,y\n1,x\n2,10\n3,9\n4,x\n5,9\n6,10\n", &options_of_several());
    let Examples::Several(data) = one.unwrap() else { panic!("three classes") };
    assert_eq!((data.classes, data.labels), (strings(&["10", "9", "x"]), vec![2, 0, 1, 2, 1, 0]));
}

fn options_of_several() -> ReadOptions {
    ReadOptions::default().with_several_classes()
}

/// Where there is no memory for the rows the second pass says so, with the bytes that all of them take.
#[test]
fn memory_that_ends_in_the_first_pass_is_told_by_the_second() {
    let rows: String = (0..400).map(|i| format!("{i},{},{}\n", i * i, i % 2)).collect();
    let text = format!("a,b,y\n{rows}");
    let enough = ReadOptions::default().with_memory(Some(400 * 17));
    // The first pass keeps rows in half of the memory at most.
    let (one, two) = both(&text, &enough);
    assert_eq!(one.unwrap(), two.unwrap());
    let (one, two) = both(&text, &enough.clone().with_memory(Some(400 * 17 - 1)));
    let said = one.unwrap_err().to_string();
    assert_eq!(said, two.unwrap_err().to_string());
    assert!(said.contains("6.6 KB"), "{said}");
}
