//! IDX files, the format of MNIST: two zero bytes, a type, a number of dimensions, their sizes
//! (big-endian, 4 bytes each), then the values.

use std::io::{BufRead, Read};

use crate::dataset::{DataDescription, Features};
use crate::encoder::{Encoder, Label};
use crate::error::{Error, Place, Position, Result};
use crate::examples::{Examples, Labels};
use crate::labels::{LabelValues, Wanted};
use crate::memory::Budget;
use crate::options::ReadOptions;
use crate::source::{Source, read_error, read_whole};

/// The IDX code of unsigned bytes, the only type that image sets use.
const UNSIGNED_BYTE: u8 = 0x08;

/// The content of an IDX file of unsigned bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdxArray {
    /// The size of each dimension; the first counts images or labels.
    pub shape: Vec<usize>,
    /// The values, last dimension fastest.
    pub values: Vec<u8>,
}

/// Reads an IDX file of unsigned bytes, plain or gzip.
pub fn read_idx(source: &Source) -> Result<IdxArray> {
    read_within(source, Budget::of_machine(), 0)
}

/// The same, if the budget has room for the values and for `further` bytes with each of them.
fn read_within(source: &Source, budget: Budget, further: u64) -> Result<IdxArray> {
    let file = source.name().to_path_buf();
    let mut input = source.open()?;
    let fail = |error| read_error(source.name(), error);
    let mut magic = Vec::new();
    input.by_ref().take(4).read_to_end(&mut magic).map_err(fail)?;
    if magic.is_empty() {
        return Err(Error::EmptyFile { file });
    }
    let &[0, 0, kind, dimensions] = &magic[..] else {
        return Err(Error::NotIdx { file, found: magic });
    };
    if dimensions == 0 {
        return Err(Error::NotIdx { file, found: magic });
    }
    if kind != UNSIGNED_BYTE {
        let found = match kind {
            0x09 => "signed bytes",
            0x0b => "2-byte integers",
            0x0c => "4-byte integers",
            0x0d => "4-byte floats",
            0x0e => "8-byte floats",
            _ => return Err(Error::NotIdx { file, found: magic }),
        };
        return Err(Error::WrongIdx { file, expected: "unsigned bytes", found: found.into() });
    }
    let mut sizes = Vec::new();
    let wanted = 4 * u64::from(dimensions);
    input.by_ref().take(wanted).read_to_end(&mut sizes).map_err(fail)?;
    if (sizes.len() as u64) < wanted {
        return Err(Error::IdxLength { file, expected: wanted, found: sizes.len() as u64 });
    }
    let shape: Vec<usize> = sizes
        .chunks_exact(4)
        .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize)
        .collect();
    let expected = shape.iter().map(|&n| n as u64).fold(1u64, u64::saturating_mul);
    // The header is not believed before the bytes are there: memory grows with the file only. But
    // once there are too many of them, it knows how many more would come.
    let part = Budget::new(budget.bytes() / (1 + further) * 2);
    let mut values = match read_whole(&mut input.by_ref().take(expected), &file, part) {
        Err(Error::Memory { .. }) => {
            let needed = expected.saturating_mul(1 + further);
            return Err(budget.ask(&file, needed).err().unwrap_or(Error::Memory {
                place: Box::new(Place::file(&file)),
                needed,
                budget: budget.bytes(),
                so_far: false,
            }));
        }
        result => result?,
    };
    values.shrink_to_fit();
    let mut found = values.len() as u64;
    if found == expected {
        found += rest(&mut input).map_err(fail)?;
    }
    if found != expected {
        return Err(Error::IdxLength { file, expected, found });
    }
    Ok(IdxArray { shape, values })
}

/// How many bytes are left; reading on to the end also checks the sum at the end of gzip data.
fn rest(input: &mut dyn BufRead) -> std::io::Result<u64> {
    let mut count = 0;
    loop {
        let length = input.fill_buf()?.len();
        if length == 0 {
            return Ok(count);
        }
        count += length as u64;
        input.consume(length);
    }
}

/// Labelled images: pixels divided by 255, features named `pixel1`, `pixel2`, ...
pub(crate) fn read(source: &Source, options: &ReadOptions) -> Result<Examples> {
    let images = image_array(source, options)?;
    let labels_source = labels_source(source, options)?;
    let values = label_array(&labels_source, source, &images)?;
    let mut found = LabelValues::default();
    for (value, row) in values.iter().zip(1..) {
        found.add(&value.to_string(), Position::Row(row));
    }
    let file = labels_source.name();
    let classes = found.resolve(Wanted { options, file, column: None, by_default: false })?;
    let skip_others = !options.negative.is_empty() && !options.positive.is_empty();
    let mut encoder = Encoder::numeric((1..=pixels(&images)).map(|j| format!("pixel{j}")));
    encoder.label = Some(Label { column: None, classes, skip_others });
    dataset(source, &labels_source, &images, &values, encoder)
}

/// Labelled images for a model that exists.
pub(crate) fn read_encoded(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
) -> Result<Examples> {
    let images = image_array(source, options)?;
    check_features(source, encoder, &images)?;
    let labels_source = labels_source(source, options)?;
    let values = label_array(&labels_source, source, &images)?;
    dataset(source, &labels_source, &images, &values, encoder.clone())
}

/// The images alone, for prediction, with their number of pixels checked against the model.
pub(crate) fn read_images(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
) -> Result<(Features, usize)> {
    let images = image_array(source, options)?;
    check_features(source, encoder, &images)?;
    let all: Vec<usize> = (0..images.shape[0]).collect();
    Ok((scaled(&images, &all), all.len()))
}

fn pixels(images: &IdxArray) -> usize {
    images.shape[1..].iter().product()
}

fn image_array(source: &Source, options: &ReadOptions) -> Result<IdxArray> {
    // A pixel is held once as a byte and once in 4 bytes.
    let images = read_within(source, Budget::or_machine(options.memory), 4)?;
    let file = || source.name().to_path_buf();
    if images.shape.len() < 2 {
        return Err(Error::WrongIdx {
            file: file(),
            expected: "images",
            found: format!("{} dimension (labels?)", images.shape.len()),
        });
    }
    if images.values.is_empty() {
        return Err(Error::NoRows { file: file() });
    }
    Ok(images)
}

fn label_array(source: &Source, images_source: &Source, images: &IdxArray) -> Result<Vec<u8>> {
    let labels = read_idx(source)?;
    if labels.shape.len() != 1 {
        return Err(Error::WrongIdx {
            file: source.name().to_path_buf(),
            expected: "labels",
            found: format!("{} dimensions (images?)", labels.shape.len()),
        });
    }
    if labels.values.len() != images.shape[0] {
        return Err(Error::IdxCounts {
            images_file: images_source.name().to_path_buf(),
            images: images.shape[0],
            labels_file: source.name().to_path_buf(),
            labels: labels.values.len(),
        });
    }
    Ok(labels.values)
}

fn check_features(source: &Source, encoder: &Encoder, images: &IdxArray) -> Result<()> {
    encoder.refuse_numbered(source.name())?;
    encoder.refuse_encoded(source.name(), "IDX")?;
    let (found, expected) = (pixels(images), encoder.width());
    if found == expected {
        Ok(())
    } else {
        Err(Error::FeatureCount { place: Place::file(source.name()), found, expected })
    }
}

/// Pixels from 0..=255 to [0, 1].
fn scaled(images: &IdxArray, rows: &[usize]) -> Features {
    let columns = pixels(images);
    let table: Vec<f32> = (0..=255u8).map(|v| f32::from(v) / 255.0).collect();
    let mut values = Vec::with_capacity(rows.len() * columns);
    for &i in rows {
        let row = &images.values[i * columns..(i + 1) * columns];
        values.extend(row.iter().map(|&v| table[usize::from(v)]));
    }
    Features::DenseF32 { values, columns }
}

fn dataset(
    source: &Source,
    labels_source: &Source,
    images: &IdxArray,
    values: &[u8],
    encoder: Encoder,
) -> Result<Examples> {
    let (classes, skip_others) = encoder.classes()?;
    let class_of: Vec<Option<u32>> =
        (0..=255u8).map(|value| classes.class_of(&value.to_string())).collect();
    let of_rows = values.iter().map(|&value| class_of[usize::from(value)]);
    let unknown = |row: usize| Error::UnknownLabel {
        place: Place::at(labels_source.name(), Position::Row(row as u64 + 1)),
        value: values[row].to_string(),
        known: classes.all(),
    };
    let (kept, labels) =
        Labels::known(&encoder, labels_source.name(), of_rows, skip_others, unknown)?;
    let description = DataDescription {
        source: source.name().display().to_string(),
        format: "idx".into(),
        rows: labels.len() as u64,
        features: pixels(images) as u64,
        dropped_other_class: (values.len() - labels.len()) as u64,
        ..DataDescription::default()
    };
    Ok(Examples::new(scaled(images, &kept), labels, None, encoder, description))
}

/// `train-labels-idx1-ubyte.gz` for `train-images-idx3-ubyte.gz`, with or without `.gz`.
fn labels_source(images: &Source, options: &ReadOptions) -> Result<Source> {
    let path = match &options.labels_file {
        Some(path) => path.clone(),
        None => {
            let name = images.name().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = name.replace("images", "labels").replace("idx3", "idx1");
            let path = images.name().with_file_name(&name);
            let twin = match name.strip_suffix(".gz") {
                Some(plain) => path.with_file_name(plain),
                None => path.with_file_name(format!("{name}.gz")),
            };
            if !path.exists() && twin.exists() { twin } else { path }
        }
    };
    if !path.exists() || path == images.name() {
        let images_file = images.name().to_path_buf();
        return Err(Error::NoIdxLabels { images_file, labels_file: path });
    }
    Ok(Source::Path(path))
}
