//! From a source of any format to blocks: one pass learns the encoding, one writes the rows.

use std::path::Path;

use super::block_file::{BlockFile, Layout};
use super::cache::{self, Cached, Fingerprint};
use super::writer::{BlockWriter, Row};
use crate::dataset::DataDescription;
use crate::encoder::{Encoded, Encoder, Purpose, Skip};
use crate::error::{Error, Place, Result};
use crate::examples::Examples;
use crate::fit_encoder;
use crate::labels::Classes;
use crate::libsvm;
use crate::options::{LabelUse, ReadOptions, Storage, UnknownCategory};
use crate::read::{Format, check_single, open_table, read_learned};
use crate::source::Source;

/// Where blocks go.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// A file that goes when the rows are no longer needed.
    Temporary,
    /// A directory, for fits to come; [`cache::open`] has looked at it.
    Kept(&'a Path, &'a Fingerprint),
}

/// What a first pass learned of a source: how its rows are encoded, and what room they take.
#[derive(Debug)]
pub struct Scan {
    format: Format,
    encoder: Encoder,
    rows: u64,
    /// Values of all rows; of sparse rows those that are stored.
    stored: u64,
    sparse: bool,
    /// Whether every value is the same in 4 bytes.
    single: bool,
}

impl Scan {
    /// The first pass. (Images are not read in blocks: they are held whole, and small.)
    pub fn new(source: &Source, options: &ReadOptions) -> Result<Self> {
        let format = options.format_of(source)?;
        Ok(match format {
            Format::Csv | Format::Tsv | Format::Parquet => {
                let open = || open_table(source, format, options);
                let fit_encoder::Learned { encoder, rows, single, .. } =
                    Encoder::learn(&open, options, false)?;
                let stored = rows.saturating_mul(encoder.width() as u64);
                Self { format, encoder, rows, stored, sparse: false, single }
            }
            Format::Libsvm => {
                let learned = libsvm::learn(source, options)?;
                let libsvm::Learned { encoder, rows, stored, single } = learned;
                Self { format, encoder, rows, stored, sparse: true, single }
            }
            Format::Idx => {
                let reason = "images are read whole".into();
                return Err(Error::NoBlocks { file: source.name().to_path_buf(), reason });
            }
        })
    }

    /// How rows are encoded.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The rows that will be kept.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The values that will be stored.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// What the rows take in memory.
    pub fn bytes(&self, options: &ReadOptions) -> u64 {
        let value = if self.sparse || options.storage == Storage::F64 { 8 } else { 4 };
        let sparse = u64::from(self.sparse);
        let weights = 8 * u64::from(self.encoder.weight.is_some());
        // A sparse row also keeps its start, its label value and its line.
        let row = 1 + weights + sparse * 32;
        self.stored * (value + 4 * sparse) + self.rows * row
    }

    /// All rows in memory, as [`crate::read_examples`] has them.
    pub fn read(self, source: &Source, options: &ReadOptions) -> Result<Examples> {
        if self.sparse {
            return crate::read_examples(source, options);
        }
        let Self { format, encoder, rows, single, .. } = self;
        let learned = fit_encoder::Learned { encoder, rows, single, numbers: None };
        let table = open_table(source, format, options)?;
        Ok(read_learned(table, learned, options, format)?.without_weightless())
    }

    /// All rows in blocks: the second pass. Values are stored in 4 bytes where that loses nothing, or
    /// was asked for.
    pub fn write(
        self,
        source: &Source,
        options: &ReadOptions,
        destination: Destination<'_>,
        block_bytes: u64,
    ) -> Result<Cached> {
        let single = self.single || options.storage == Storage::F32 && !self.sparse;
        let pass = Pass {
            source,
            format: self.format,
            encoder: &self.encoder,
            purpose: Purpose::Training,
            unknown: UnknownCategory::Error,
            options,
        };
        let (blocks, description) = pass.write(single, destination, block_bytes)?;
        Ok(Cached { blocks, encoder: self.encoder, description })
    }
}

/// The rows of a source the way an existing model encodes them, in temporary blocks: for measuring it.
pub fn write_encoded(
    source: &Source,
    encoder: &Encoder,
    unknown: UnknownCategory,
    options: &ReadOptions,
    block_bytes: u64,
) -> Result<Cached> {
    let format = options.format_of(source)?;
    let pass = Pass { source, format, encoder, purpose: Purpose::Prediction, unknown, options };
    let single = options.storage == Storage::F32 && format != Format::Libsvm;
    let (blocks, description) = pass.write(single, Destination::Temporary, block_bytes)?;
    Ok(Cached { blocks, encoder: encoder.clone(), description })
}

/// A pass over all rows of a source with an encoder.
struct Pass<'a> {
    source: &'a Source,
    format: Format,
    encoder: &'a Encoder,
    purpose: Purpose,
    unknown: UnknownCategory,
    options: &'a ReadOptions,
}

impl Pass<'_> {
    fn write(
        &self,
        single: bool,
        destination: Destination<'_>,
        block_bytes: u64,
    ) -> Result<(BlockFile, DataDescription)> {
        let layout = Layout {
            columns: self.encoder.width(),
            single,
            sparse: self.format == Format::Libsvm,
            weighted: self.encoder.weight.is_some(),
        };
        let mut out = match destination {
            Destination::Temporary => BlockWriter::temporary(None, layout, block_bytes)?,
            Destination::Kept(directory, fingerprint) => {
                let name = cache::file_in(directory);
                let header = cache::header(fingerprint, self.encoder, layout, block_bytes);
                BlockWriter::kept(&name, &header, layout, block_bytes)?
            }
        };
        let mut description = DataDescription {
            format: self.format.name().into(),
            features: layout.columns as u64,
            ..DataDescription::default()
        };
        match self.format {
            Format::Libsvm => self.sparse_rows(&mut out, &mut description)?,
            Format::Csv | Format::Tsv | Format::Parquet => {
                self.table_rows(single, &mut out, &mut description)?;
            }
            Format::Idx => {
                let reason = "images are read whole".into();
                return Err(Error::NoBlocks { file: self.source.name().to_path_buf(), reason });
            }
        }
        description.source = self.source.name().display().to_string();
        description.rows = out.rows();
        if description.rows == 0 {
            return Err(Error::NoRows { file: self.source.name().to_path_buf() });
        }
        Ok((out.finish(&description)?, description))
    }

    fn sparse_rows(&self, out: &mut BlockWriter, description: &mut DataDescription) -> Result<()> {
        let Self { source, encoder, options, .. } = *self;
        libsvm::for_each_labelled_row(source, encoder, options, |row| match row {
            Some((class, columns, values)) => {
                out.push(Row::Sparse(columns, values), u8::from(class != 0), 1.0)
            }
            None => {
                description.dropped_other_class += 1;
                Ok(())
            }
        })
    }

    fn table_rows(
        &self,
        single: bool,
        out: &mut BlockWriter,
        description: &mut DataDescription,
    ) -> Result<()> {
        let mut table = open_table(self.source, self.format, self.options)?;
        let bound = self.encoder.bind(table.as_mut(), LabelUse::Require, self.unknown)?;
        let mut row = vec![0.0; self.encoder.width()];
        let (mut occurs, mut weighs) = ([false; 2], [false; 2]);
        while let Some(position) = table.next_row()? {
            match bound.encode(table.as_ref(), position, self.purpose, &mut row)? {
                Encoded::Skipped(Skip::Missing) => description.dropped_missing += 1,
                Encoded::Skipped(Skip::OtherClass) => description.dropped_other_class += 1,
                Encoded::Row { label, weight, unknown } => {
                    description.unknown_categories += u64::from(unknown);
                    let label = u8::from(label.unwrap_or(0) != 0);
                    occurs[usize::from(label)] = true;
                    // A row of weight 0 is a removed row, exactly.
                    if weight == 0.0 {
                        continue;
                    }
                    weighs[usize::from(label)] = true;
                    if single {
                        check_single(&row, table.as_ref(), position, self.encoder)?;
                    }
                    out.push(Row::Dense(&row), label, weight)?;
                }
            }
        }
        let class = (0..2).find(|&class| occurs[class] && !weighs[class]);
        if let (Some(class), Some(column)) = (class, &self.encoder.weight) {
            let names = self.encoder.label.as_ref().map(|label| label.classes.names());
            return Err(Error::ZeroWeights {
                place: Place::file(self.source.name()).column(column),
                class: names.map_or_else(String::new, |names| names[class].clone()),
            });
        }
        Ok(())
    }
}

impl Cached {
    /// The names of the two classes.
    pub fn classes(&self) -> [String; 2] {
        let classes = self.encoder.label.as_ref().map(|label| &label.classes);
        classes.map_or_else(crate::read::no_names, Classes::names)
    }
}
