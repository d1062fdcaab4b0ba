//! Inputs that are right, or nearly so: a grammar for each format.

use std::io::Write as _;

use properloss_data::random::Random;

fn pick<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len())]
}

fn number(random: &mut Random) -> String {
    match random.below(8) {
        0 => random.below(4).to_string(),
        1 => format!("{:e}", random.gaussian() * 1e200),
        2 => format!("{:e}", random.gaussian() * 1e-200),
        3 => (random.bits() as i64).to_string(),
        _ => format!("{:.3}", random.gaussian()),
    }
}

/// A table with a header, numbers, categories, gaps, quotes and two classes.
fn table(random: &mut Random, delimiter: char) -> Vec<u8> {
    let columns = 1 + random.below(6);
    let textual: Vec<bool> = (0..columns).map(|_| random.below(4) == 0).collect();
    let mut text = String::new();
    for j in 0..columns {
        text += &format!("{}{j}{delimiter}", pick(random, &["a", "x ", "\"q\"\"q\"", "ä", "a"]));
    }
    text += "y\n";
    for _ in 0..random.below(30) {
        for textual in &textual {
            let cell = match (random.below(30), *textual) {
                (0, _) => pick(random, &["", "NA", "nan", "null"]).to_owned(),
                (1, _) => format!("\"{}\"", number(random)),
                (2, _) => "\"a\nb\"".to_owned(),
                (_, true) => pick(random, &["red", "green", "blue", " blue", "3"]).to_owned(),
                (_, false) => number(random),
            };
            text += &format!("{cell}{delimiter}");
        }
        text += pick(random, &["0", "1", "1", "0", "1.0", "yes"]);
        text += pick(random, &["\n", "\n", "\n", "\r\n"]);
    }
    text.into_bytes()
}

/// Commas.
pub fn csv(random: &mut Random) -> Vec<u8> {
    table(random, ',')
}

/// Tabs.
pub fn tsv(random: &mut Random) -> Vec<u8> {
    table(random, '\t')
}

/// Sparse lines, with indices up to the largest.
pub fn libsvm(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    let spread = [4, 100, 70_000, 1 << 28, 1 << 33][random.below(5)];
    for _ in 0..random.below(30) {
        text += pick(random, &["0", "1", "+1", "-1", "1"]);
        let mut index = 0;
        for _ in 0..random.below(6) {
            index += 1 + random.below(spread);
            text += &format!(" {index}:{}", number(random));
        }
        text += pick(random, &["\n", "\n", " # c\n", "\n\n"]);
    }
    text.into_bytes()
}

/// Images or labels.
pub fn idx(random: &mut Random) -> Vec<u8> {
    let kind = [8, 8, 8, 8, 9, 0x0b, 0x0d, 0x0e][random.below(8)];
    let dimensions = 1 + random.below(3);
    let mut bytes = vec![0, 0, kind, dimensions as u8];
    let mut count = 1usize;
    for _ in 0..dimensions {
        let size = random.below(6);
        count *= size;
        bytes.extend_from_slice(&(size as u32).to_be_bytes());
    }
    bytes.extend((0..count).map(|_| random.bits() as u8 & 1));
    bytes
}

/// Small images and their labels: two bytes that say how long the file of labels is, that file, the images.
pub fn images(random: &mut Random) -> Vec<u8> {
    let (count, side) = (1 + random.below(20), 1 + random.below(4));
    let mut labels = [&[0, 0, 8, 1][..], &(count as u32).to_be_bytes()].concat();
    labels.extend((0..count).map(|_| random.below(3) as u8));
    let mut images = vec![0, 0, 8, 3];
    for size in [count, side, side] {
        images.extend_from_slice(&(size as u32).to_be_bytes());
    }
    images.extend((0..count * side * side).map(|_| random.bits() as u8));
    [&(labels.len() as u16).to_le_bytes()[..], &labels, &images].concat()
}

/// Any text file, compressed.
pub fn gzip(random: &mut Random) -> Vec<u8> {
    let plain = match random.below(4) {
        0 => csv(random),
        1 => libsvm(random),
        2 => idx(random),
        _ => vec![random.bits() as u8; random.below(1 << 20)],
    };
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = encoder.write_all(&plain);
    encoder.finish().unwrap_or_default()
}

/// There is no Parquet writer here: the corpus holds files of pandas and polars. A file of our own
/// has a footer of random fields.
pub fn parquet(random: &mut Random) -> Vec<u8> {
    let mut bytes = b"PAR1".to_vec();
    let footer: Vec<u8> = (0..random.below(100))
        .map(|_| {
            [0x15, 0x19, 0x1c, 0x2c, 0x18, 0, 2, 0xf5, 0xfc, random.bits() as u8][random.below(10)]
        })
        .collect();
    bytes.extend_from_slice(&footer);
    bytes.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    bytes.extend_from_slice(b"PAR1");
    bytes
}

fn list(random: &mut Random, length: usize, increasing: bool) -> String {
    let mut value = random.gaussian();
    let values: Vec<String> = (0..length)
        .map(|_| {
            value = if increasing { value + random.uniform() } else { random.gaussian() };
            format!("{value:?}")
        })
        .collect();
    format!("[{}]", values.join(", "))
}

/// Probabilities from 0 to 1.
fn rising(random: &mut Random, length: usize) -> String {
    let mut cuts: Vec<f64> = (0..length.saturating_sub(2)).map(|_| random.uniform()).collect();
    cuts.extend([0.0, 1.0]);
    cuts.sort_by(f64::total_cmp);
    let values: Vec<String> = cuts.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", values.join(", "))
}

fn link_json(random: &mut Random, depth: usize) -> String {
    let length = 2 + random.below(6);
    match random.below(4) {
        0 => format!(
            r#"{{"kind": "piecewise", "z": {}, "u": {}}}"#,
            list(random, length, true),
            rising(random, length)
        ),
        1 => format!(
            r#"{{"kind": "isotonic", "z": {}, "u": {}}}"#,
            list(random, length, true),
            rising(random, length)
        ),
        2 if depth < 8 => format!(
            r#"{{"kind": "relative", "base": {}, "p": {}, "v": {}}}"#,
            link_json(random, depth + 1),
            rising(random, length),
            rising(random, length)
        ),
        _ => {
            let names =
                ["sigmoid", "probit", "cloglog", "loglog", "cauchy", "matsushita", "clipped-line"];
            let count = random.below(3);
            let params = list(random, count, false);
            format!(
                r#"{{"kind": "builtin", "name": "{}", "params": {params}}}"#,
                pick(random, &names)
            )
        }
    }
}

/// A model file.
pub fn model(random: &mut Random) -> Vec<u8> {
    let features = 1 + random.below(4);
    let names: Vec<String> = (0..features).map(|j| format!("\"f{j}\"")).collect();
    let encoder = match random.below(3) {
        0 => {
            let indices: Vec<String> = (0..features).map(|j| (j * 1000).to_string()).collect();
            format!(
                r#"{{"columns": [], "sparse": {{"first": 1, "indices": [{}]}}}}"#,
                indices.join(",")
            )
        }
        _ => {
            let columns: Vec<String> =
                names.iter().map(|n| format!(r#"{{"name": {n}, "kind": "numeric"}}"#)).collect();
            format!(r#"{{"columns": [{}]}}"#, columns.join(", "))
        }
    };
    let scaling = match random.below(3) {
        0 => r#"{"kind": "none"}"#.to_owned(),
        1 => r#"{"kind": "max-norm", "factor": 0.5}"#.to_owned(),
        _ => format!(
            r#"{{"kind": "standardise", "mean": {}, "factor": {}}}"#,
            list(random, features, false),
            list(random, features, false)
        ),
    };
    let named = if encoder.contains("sparse") {
        String::new()
    } else {
        format!(r#""feature_names": [{}], "#, names.join(", "))
    };
    format!(
        r#"{{"format": "properloss-model", "version": 1, "weights": {}, "intercept": {}, "link": {},
"preprocessing": {{"encoder": {encoder}, "scaling": {scaling}}}, {named}"classes": ["a", "b"],
"fitted": {{"method": "m", "options": {{"x": 1, "y": [true, {{"z": "w"}}]}}}}}}"#,
        list(random, features, false),
        number(random),
        link_json(random, 0),
    )
    .into_bytes()
}

/// A model file of several classes.
pub fn classes(random: &mut Random) -> Vec<u8> {
    let (classes, features) = (3 + random.below(3), 1 + random.below(3));
    let quoted = |letter: char, count: usize| -> String {
        (0..count).map(|k| format!("\"{letter}{k}\"")).collect::<Vec<_>>().join(", ")
    };
    let columns: Vec<String> =
        (0..features).map(|j| format!(r#"{{"name": "f{j}", "kind": "numeric"}}"#)).collect();
    let weights: Vec<String> = (0..classes).map(|_| list(random, features, false)).collect();
    let (share, length) = (random.below(5), 2 + random.below(4));
    let ramp = format!(
        r#"{{"mass": {}, "class": {}, "p": {}, "r": {}}}"#,
        share as f64 / 8.0,
        random.below(classes),
        rising(random, length),
        rising(random, length)
    );
    format!(
        r#"{{"format": "properloss-model", "version": 2, "weights": [{}], "intercepts": {},
"link": {{"softmax": [{{"mass": {}, "t": {}}}], "floor": [{}], "ramps": [{}]}},
"preprocessing": {{"encoder": {{"columns": [{}]}}, "scaling": {{"kind": "none"}}}},
"feature_names": [{}], "classes": [{}], "fitted": {{"method": "m", "options": {{}}}}}}"#,
        weights.join(", "),
        list(random, classes, false),
        1.0 - share as f64 / 8.0,
        number(random),
        vec!["0.0"; classes].join(", "),
        if share > 0 { ramp } else { String::new() },
        columns.join(", "),
        quoted('f', features),
        quoted('c', classes),
    )
    .into_bytes()
}

/// A model file of two classes or of several.
pub fn export(random: &mut Random) -> Vec<u8> {
    if random.below(3) > 0 { model(random) } else { classes(random) }
}

/// A loss file.
pub fn loss(random: &mut Random) -> Vec<u8> {
    format!(r#"{{"format": "properloss-loss", "version": 1, "link": {}}}"#, link_json(random, 0))
        .into_bytes()
}

/// Eight-byte floats: gaussians, ties, and the edges of the type.
pub fn numbers(random: &mut Random) -> Vec<u8> {
    let edges = [0.0, -0.0, 1.0, 0.5, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::EPSILON];
    let mut value = 0.0;
    (0..2 + random.below(60))
        .flat_map(|_| {
            value = match random.below(12) {
                0 => edges[random.below(8)],
                1 => -edges[random.below(8)],
                2 => value,
                3 => f64::from_bits(random.bits()),
                4 => random.gaussian() * 1e3,
                5..8 => random.uniform(),
                _ => random.gaussian(),
            };
            value.to_le_bytes()
        })
        .collect()
}
