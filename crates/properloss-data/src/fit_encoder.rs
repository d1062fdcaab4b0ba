//! The first pass over a table: which columns are numbers, which categories, which classes occur. Where all columns
//! turn out to be numbers, and none is missing, it has read the examples as well.

use std::collections::BTreeMap;

use crate::collected::Collected;
use crate::encode_row::{
    boolean, category_text, cell_number, cell_text, is_missing, written_number,
};
use crate::encoder::{Column, ColumnKind, Encoder, Label, Writing};
use crate::error::{Error, Place, Position, Result, clipped};
use crate::examples::Labels;
use crate::labels::{LabelValues, Wanted};
use crate::memory::{Budget, CATEGORY_LIMIT};
use crate::options::{Missing, ReadOptions};
use crate::table::{Cell, Table, find_column};

/// The columns of a table by their role.
struct Roles {
    /// None where the labels are not in the table.
    label: Option<usize>,
    weight: Option<usize>,
    features: Vec<usize>,
}

/// What one pass learns of a column.
#[derive(Default)]
struct Profile {
    /// Collect the categories whatever the values look like.
    as_categories: bool,
    /// How many categories there may be.
    limit: usize,
    numbers: u64,
    /// Everything else, truth values and dates among them.
    texts: u64,
    booleans: u64,
    dates: u64,
    /// Of the numbers that the values stand for.
    sum: f64,
    first_text: Option<(Position, String)>,
    first_missing: Option<(Position, String)>,
    /// Category to count; of the texts only, unless `as_categories`.
    categories: BTreeMap<String, u64>,
    /// Some value of it is not the same in 4 bytes.
    wide: bool,
}

/// What the first pass over a table learned.
pub(crate) struct Learned {
    pub encoder: Encoder,
    /// The rows that will be kept.
    pub rows: u64,
    /// Whether every feature of every row is the same in 4 bytes.
    pub single: bool,
    /// All rows, if they were to be kept and are numbers: there is nothing left to encode.
    pub numbers: Option<Numbers>,
}

/// Rows of numbers.
pub(crate) struct Numbers {
    pub rows: Collected,
    /// How many were left out because their label is of neither class.
    pub other_class: u64,
}

fn is_wide(value: f64) -> bool {
    f64::from(value as f32) != value
}

impl Encoder {
    /// Learns the encoding of a table. `open` is called once for each pass.
    ///
    /// A column is numeric if every value that is not missing is a number, categorical if fewer
    /// than half of them are; between the two it is an error, because a few texts among numbers are
    /// more likely mistakes than categories.
    pub fn fit(open: &dyn Fn() -> Result<Box<dyn Table>>, options: &ReadOptions) -> Result<Self> {
        Ok(Self::learn(open, options, false)?.encoder)
    }

    /// The same with what else the pass learned; `keep`: the rows, too, as long as they are numbers and memory lasts.
    pub(crate) fn learn(
        open: &dyn Fn() -> Result<Box<dyn Table>>,
        options: &ReadOptions,
        keep: bool,
    ) -> Result<Learned> {
        let table = open()?;
        let roles = roles(table.as_ref(), options)?;
        Self::fit_roles(table, open, &roles, options, keep)
    }

    /// Learns the encoding of a table whose labels are elsewhere: every column is a feature but
    /// those that the options ignore.
    pub fn fit_features(
        open: &dyn Fn() -> Result<Box<dyn Table>>,
        options: &ReadOptions,
    ) -> Result<Self> {
        let table = open()?;
        let ignored = |name: &String| options.ignore.contains(name);
        let features = (0..table.columns().len()).filter(|&j| !ignored(&table.columns()[j]));
        let roles = Roles { label: None, weight: None, features: features.collect() };
        if roles.features.is_empty() {
            return Err(Error::NoFeatures { file: table.file().to_path_buf() });
        }
        Ok(Self::fit_roles(table, open, &roles, options, false)?.encoder)
    }

    fn fit_roles(
        mut table: Box<dyn Table>,
        open: &dyn Fn() -> Result<Box<dyn Table>>,
        roles: &Roles,
        options: &ReadOptions,
        keep: bool,
    ) -> Result<Learned> {
        let mut profiles: Vec<Profile> = Vec::new();
        for &index in &roles.features {
            let declared = options.categorical.contains(&table.columns()[index]);
            let limit = if declared { CATEGORY_LIMIT } else { options.max_categories };
            profiles.push(Profile { as_categories: declared, limit, ..Profile::default() });
        }
        let kept = keep.then(|| {
            let (features, weighted) = (roles.features.len(), roles.weight.is_some());
            // Labels are kept as the numbers of their values until the classes are known.
            let labels = Labels::Several(Vec::new());
            // Rows that take more than half of the memory are counted first: nothing is taken for what will not fit.
            let budget = Budget::new(Budget::or_machine(options.memory).bytes() / 2);
            Collected::new(table.file(), features, labels, weighted, options.storage, budget)
        });
        let Scanned { labels, rows, other_class, mut kept } =
            scan(table.as_mut(), roles, options, &mut profiles, kept)?;
        let label = match roles.label {
            None => None,
            Some(label) => {
                let column = table.columns()[label].clone();
                let classes = labels.resolve(Wanted {
                    options,
                    file: table.file(),
                    column: Some(&column),
                    by_default: options.label.is_none(),
                })?;
                if let Some(kept) = &mut kept {
                    kept.classify(&labels, &classes);
                }
                Some(Label { column: Some(column), classes, skip_others: chosen(options) })
            }
        };
        // A column of texts and a few numbers: the numbers are categories too, and another pass
        // counts them. Keeping the writing of every number in the first pass would cost more.
        let mut mixed = false;
        for (profile, &index) in profiles.iter_mut().zip(&roles.features) {
            check_profile(profile, table.as_ref(), index)?;
            if profile.texts > 0 && profile.numbers > 0 && !profile.as_categories {
                profile.as_categories = true;
                mixed = true;
            }
        }
        if mixed {
            for profile in &mut profiles {
                let Profile { as_categories, limit, .. } = *profile;
                *profile = Profile { as_categories, limit, ..Profile::default() };
            }
            table = open()?;
            scan(table.as_mut(), roles, options, &mut profiles, None)?;
        }
        let (mut columns, mut single) = (Vec::new(), true);
        for (profile, &index) in profiles.into_iter().zip(&roles.features) {
            let wide = profile.wide;
            let column = column(profile, table.as_ref(), index, options)?;
            single &= match &column.kind {
                ColumnKind::Numeric { fill } => !wide && !fill.is_some_and(is_wide),
                ColumnKind::Categorical { fill, .. } => {
                    !fill.iter().flatten().any(|&share| is_wide(share))
                }
                ColumnKind::LogOdds { .. } => false,
            };
            columns.push(column);
        }
        let encoder = Self {
            columns,
            sparse: None,
            label,
            weight: options.weight.clone(),
            missing: options.missing,
            missing_words: options.missing_words.clone(),
        };
        let numbers = kept.map(|rows| Numbers { rows, other_class });
        Ok(Learned { encoder, rows, single, numbers })
    }
}

/// Whether both classes were named, so that rows of other values are left out.
fn chosen(options: &ReadOptions) -> bool {
    !options.negative.is_empty() && !options.positive.is_empty()
}

fn roles(table: &dyn Table, options: &ReadOptions) -> Result<Roles> {
    let label = match &options.label {
        Some(name) => find_column(table, "label", name)?,
        None => table.columns().len() - 1,
    };
    let weight =
        options.weight.as_ref().map(|name| find_column(table, "weight", name)).transpose()?;
    let mut ignored = Vec::new();
    for name in &options.ignore {
        let role = if options.group.as_ref() == Some(name) { "group" } else { "ignore" };
        ignored.push(find_column(table, role, name)?);
    }
    let clash = |name: usize, first, second| {
        Err(Error::RoleClash { name: table.columns()[name].clone(), first, second })
    };
    if weight == Some(label) {
        return clash(label, "label", "weight");
    }
    if ignored.contains(&label) && options.label.is_some() {
        return clash(label, "label", "ignored");
    }
    for name in &options.categorical {
        let index = find_column(table, "categorical", name)?;
        if ignored.contains(&index) {
            return clash(index, "categorical", "ignored");
        }
    }
    // An ignored last column passes the default label on to the one before it.
    let label = if options.label.is_none() {
        let free = |j: &usize| !ignored.contains(j) && weight != Some(*j);
        match (0..table.columns().len()).rev().find(free) {
            Some(label) => label,
            None => return Err(Error::NoFeatures { file: table.file().to_path_buf() }),
        }
    } else {
        label
    };
    let features: Vec<usize> = (0..table.columns().len())
        .filter(|j| *j != label && weight != Some(*j) && !ignored.contains(j))
        .collect();
    if features.is_empty() {
        return Err(Error::NoFeatures { file: table.file().to_path_buf() });
    }
    Ok(Roles { label: Some(label), weight, features })
}

/// What a pass met.
struct Scanned {
    labels: LabelValues,
    /// How many rows are not left out, and how many are, for their label.
    rows: u64,
    other_class: u64,
    /// The rows, if all are numbers.
    kept: Option<Collected>,
}

/// One pass over the rows that will be kept. Whatever else than numbers it meets, it goes on without `kept`: the second
/// pass knows what to do, and in which words to refuse.
fn scan(
    table: &mut dyn Table,
    roles: &Roles,
    options: &ReadOptions,
    profiles: &mut [Profile],
    mut kept: Option<Collected>,
) -> Result<Scanned> {
    let mut used = roles.features.clone();
    used.extend(roles.label);
    used.extend(roles.weight);
    table.select(&used)?;
    let missing = |cell: &Cell<'_>| is_missing(&options.missing_words, cell);
    let drop = options.missing == Missing::Drop;
    let named = [&options.negative, &options.positive];
    let chosen = chosen(options);
    let mut labels = LabelValues::default();
    let (mut rows, mut dropped, mut other_class) = (0, 0, 0);
    let mut row = vec![0.0; profiles.len()];
    while let Some(position) = table.next_row()? {
        rows += 1;
        if drop && used.iter().any(|&index| missing(&table.cell(index))) {
            dropped += 1;
            kept = None;
            continue;
        }
        let mut number = 0;
        if let Some(index) = roles.label {
            let label = table.cell(index);
            if missing(&label) {
                return Err(Error::MissingValue {
                    place: table.place(position, index),
                    value: clipped(&cell_text(&label)),
                });
            }
            number = labels.add(&cell_text(&label), position);
            if chosen && !labels.is_named(number, named) {
                other_class += 1;
                continue;
            }
            if labels.is_hopeless() && !chosen {
                break;
            }
        }
        for ((profile, &index), x) in profiles.iter_mut().zip(&roles.features).zip(&mut row) {
            let cell = table.cell(index);
            if let Cell::Number(number) = cell
                && number.is_finite()
                && !profile.as_categories
            {
                profile.add_number(number);
                *x = number;
            } else if missing(&cell) {
                let value = clipped(&cell_text(&cell));
                if options.missing == Missing::Error {
                    return Err(Error::MissingValue { place: table.place(position, index), value });
                }
                profile.first_missing.get_or_insert((position, value));
                kept = None;
            } else {
                let number = profile.add(&cell, position).map_err(|value| Error::NotFinite {
                    place: table.place(position, index),
                    value,
                })?;
                match number {
                    Some(number) => *x = number,
                    None => kept = None,
                }
            }
        }
        if let Some(rows) = &mut kept
            && keep(rows, &row, number, roles.weight.map(|index| table.cell(index))).is_none()
        {
            kept = None;
        }
    }
    let file = table.file().to_path_buf();
    if rows == 0 {
        return Err(Error::NoRows { file });
    }
    if rows == dropped + other_class && dropped > 0 {
        return Err(Error::NoRowsLeft { file, rows, dropped, other_class });
    }
    Ok(Scanned { labels, rows: rows - dropped - other_class, other_class, kept })
}

/// Keeps a row; `None` if it does not go as it is, or memory ends.
fn keep(rows: &mut Collected, row: &[f64], label: usize, weight: Option<Cell<'_>>) -> Option<()> {
    let weight = match weight {
        None => 1.0,
        Some(cell) => cell_number(&cell).filter(|w| w.is_finite() && *w >= 0.0)?,
    };
    let label = u32::try_from(label).ok()?;
    rows.takes(row).then(|| rows.push(row, label, weight).ok())?
}

impl Profile {
    /// Takes in a finite number of a column that is not to be categories.
    fn add_number(&mut self, number: f64) {
        self.numbers += 1;
        self.sum += number;
        self.wide |= is_wide(number);
    }

    /// Takes in a value that is not missing, and says the number that it is, unless it is a category; an infinite one
    /// is handed back.
    fn add(
        &mut self,
        cell: &Cell<'_>,
        position: Position,
    ) -> std::result::Result<Option<f64>, String> {
        let (truth, date) = (boolean(cell), written_number(Writing::Dates, cell));
        let number = if truth.is_some() || date.is_some() { None } else { cell_number(cell) };
        self.booleans += u64::from(truth.is_some());
        self.dates += u64::from(date.is_some());
        self.sum += truth.map_or(0.0, |truth| f64::from(u8::from(truth))) + date.unwrap_or(0.0);
        self.wide |= date.or(number).is_some_and(is_wide);
        match number {
            Some(number) if !self.as_categories && !number.is_finite() => {
                return Err(clipped(&cell_text(cell)));
            }
            Some(number) => {
                self.numbers += 1;
                self.sum += number;
                if !self.as_categories {
                    return Ok(Some(number));
                }
            }
            None => {
                self.texts += 1;
                if self.first_text.is_none() {
                    self.first_text = Some((position, clipped(&cell_text(cell))));
                }
            }
        }
        let text = category_text(cell);
        if let Some(count) = self.categories.get_mut(text.as_ref()) {
            *count += 1;
        } else if self.categories.len() <= self.limit {
            // One more than allowed is kept, as the sign that there are too many.
            self.categories.insert(text.into_owned(), 1);
        }
        Ok(None)
    }

    fn count(&self) -> u64 {
        self.numbers + self.texts
    }

    /// How the values are written, if all of them stand for numbers.
    fn written(&self) -> Option<Writing> {
        let all = self.count();
        match self {
            _ if self.as_categories => None,
            _ if self.numbers == all => Some(Writing::Numbers),
            _ if self.booleans == all => Some(Writing::Booleans),
            _ if self.dates == all => Some(Writing::Dates),
            _ => None,
        }
    }
}

/// Refuses columns that are neither numbers nor categories.
fn check_profile(profile: &Profile, table: &dyn Table, index: usize) -> Result<()> {
    let name = &table.columns()[index];
    let place = || Place::file(table.file()).column(name);
    if profile.count() == 0 {
        return Err(Error::AllMissing { place: place() });
    }
    if let Some((position, value)) = &profile.first_text
        && !profile.as_categories
        && profile.written().is_none()
        && 2 * profile.numbers >= profile.count()
    {
        return Err(Error::TextInNumericColumn {
            place: table.place(*position, index),
            value: value.clone(),
            numbers: profile.numbers,
            values: profile.count(),
        });
    }
    let limit = profile.limit;
    if profile.categories.len() > limit && profile.written().is_none() {
        return Err(Error::TooManyCategories { place: place(), limit, rows: profile.count() });
    }
    Ok(())
}

fn column(
    profile: Profile,
    table: &dyn Table,
    index: usize,
    options: &ReadOptions,
) -> Result<Column> {
    check_profile(&profile, table, index)?;
    let fill = options.missing == Missing::Mean;
    let count = profile.count() as f64;
    let written = profile.written();
    let kind = if written.is_some() {
        ColumnKind::Numeric { fill: fill.then_some(profile.sum / count) }
    } else {
        let share = |&times: &u64| times as f64 / count;
        let fill = fill.then(|| profile.categories.values().map(share).collect());
        ColumnKind::Categorical { fill, categories: profile.categories.into_keys().collect() }
    };
    let written = written.unwrap_or_default();
    Ok(Column { name: table.columns()[index].clone(), kind, written })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;

    use super::*;
    use crate::source::Source;
    use crate::table::{CsvFormat, CsvTable};

    /// How often a table is opened before its rows can be encoded, and whether that is still to be done.
    fn passes(text: &str, options: &ReadOptions) -> (u32, bool) {
        let source = Source::memory("t.csv", text.as_bytes());
        let opened = Counter::new(0);
        let open = || -> Result<Box<dyn Table>> {
            opened.set(opened.get() + 1);
            Ok(Box::new(CsvTable::open(&source, CsvFormat::of(source.name()))?))
        };
        let learned = Encoder::learn(&open, options, true).unwrap();
        (opened.get(), learned.numbers.is_none())
    }

    #[test]
    fn tables_of_numbers_are_read_once() {
        let options = ReadOptions::default().with_missing(Missing::Mean);
        assert_eq!(passes("a,b,y\n1,2,no\n3,4.5,yes\n", &options), (1, false));
        assert_eq!(passes("a,b,y\n1,2,no\n3,,yes\n", &options), (1, true));
        assert_eq!(passes("a,b,y\n1,red,no\n3,blue,yes\n", &options), (1, true));
        assert_eq!(passes("a,b,y\n1,red,no\n3,5,yes\n2,blue,no\n", &options), (2, true));
        // Two rows of a number and the number of a label, 12 bytes each, in half of the memory.
        let little = |bytes| options.clone().with_memory(Some(bytes));
        assert_eq!(passes("a,y\n1,no\n3,yes\n", &little(48)), (1, false));
        assert_eq!(passes("a,y\n1,no\n3,yes\n", &little(46)), (1, true));
        let single = options.clone().with_storage(crate::options::Storage::F32);
        assert_eq!(passes("a,y\n1,no\n3e38,yes\n", &single), (1, false));
        assert_eq!(passes("a,y\n1,no\n4e38,yes\n", &single), (1, true));
    }
}
