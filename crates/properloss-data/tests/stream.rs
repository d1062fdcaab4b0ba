//! Rows in blocks: the same rows as in memory, blocks of the size asked for, caches that know theirs.

mod common;

use common::Directory;
use properloss::rows::{Block, BlockFacts, Blocks};
use properloss::sample::{Indices, Matrix, Offsets, Values};
use properloss_data::stream::{
    BlockFile, BlockWriter, Destination, Fingerprint, Layout, Scan, block_bytes, cache,
    write_encoded,
};
use properloss_data::{
    DataDescription, Error, Format, ReadOptions, Source, Storage, UnknownCategory, read,
};
use serde_json::Value;

/// 60 rows of two numbers and a weight; a tenth is a wide number.
fn table() -> String {
    let row = |i: i32| format!("{},{},{},{}\n", f64::from(i) / 10.0, i % 7, i % 3, i * i % 2);
    "a,b,w,y\n".to_owned() + &(0..60).map(row).collect::<String>()
}

fn sparse() -> String {
    (0..60)
        .map(|i| format!("{} {}:{} 900001:1\n", i * i % 2, 1 + i % 3, f64::from(i) / 10.0))
        .collect()
}

fn weighted() -> ReadOptions {
    ReadOptions::default().with_weight(Some("w".into()))
}

fn blocks_of(source: &Source, options: &ReadOptions, bytes: u64) -> cache::Cached {
    let scan = Scan::new(source, options).unwrap();
    scan.write(source, options, Destination::Temporary, bytes).unwrap()
}

/// Of all rows in memory, as one block.
fn in_memory(source: &Source, options: &ReadOptions) -> BlockFacts {
    let data = read(source, options).unwrap();
    Block::new(data.matrix().unwrap(), &data.labels, data.weights.as_deref()).unwrap().facts()
}

#[test]
fn one_block_is_the_rows_in_memory() {
    for (name, text, options) in [
        ("t.csv", table(), ReadOptions::default()),
        ("t.csv", table(), weighted()),
        ("t.svm", sparse(), ReadOptions::default()),
    ] {
        let source = Source::memory(name, text.as_bytes());
        let data = read(&source, &options).unwrap();
        let cached = blocks_of(&source, &options, 1 << 20);
        assert_eq!(cached.blocks.facts(), [in_memory(&source, &options)]);
        assert_eq!(cached.encoder, data.encoder);
        assert_eq!(cached.classes(), data.classes);
        assert_eq!(cached.description, data.description);
        assert_eq!(cached.blocks.rows(), data.rows() as u64);
        assert_eq!(cached.blocks.columns(), data.columns());
        // The way an existing model encodes them.
        let unknown = UnknownCategory::Error;
        let again = write_encoded(&source, &data.encoder, unknown, &options, 1 << 20).unwrap();
        assert_eq!(again.blocks.facts(), cached.blocks.facts());
        assert_eq!(again.description, cached.description);
        // In 4 bytes if that is asked for; sparse values stay as they are.
        let single = options.clone().with_storage(Storage::F32);
        let narrow = blocks_of(&source, &single, 1 << 20).blocks;
        let again = write_encoded(&source, &data.encoder, unknown, &single, 1 << 20).unwrap();
        assert_eq!(again.blocks.facts(), narrow.facts());
        assert_eq!(again.blocks.bytes(), narrow.bytes());
        assert_eq!(narrow.bytes() < cached.blocks.bytes(), name == "t.csv");
    }
}

/// Rows that are left out are counted, as in memory.
#[test]
fn rows_left_out_are_counted() {
    let text = "a,c,y\n1,x,no\n,x,no\n3,z,yes\n4,x,maybe\n5,z,no\n6,x,yes\n7,x,perhaps\n,z,yes\n";
    let source = Source::memory("t.csv", text.as_bytes());
    let options = ReadOptions::default()
        .with_negative(vec!["no".into()])
        .with_positive(vec!["yes".into()])
        .with_missing(properloss_data::Missing::Drop);
    let cached = blocks_of(&source, &options, 1 << 20);
    let description = &cached.description;
    assert_eq!((description.rows, description.features), (4, 3));
    assert_eq!((description.dropped_missing, description.dropped_other_class), (2, 2));
    assert_eq!(description, &read(&source, &options).unwrap().description);
    // A model that knows less: its unknown categories are counted, or refused.
    let source = Source::memory("t.csv", &b"a,c,y\n1,x,no\n3,z,yes\n5,z,no\n6,x,maybe\n"[..]);
    let known =
        read(&Source::memory("k.csv", &b"a,c,y\n1,x,no\n2,x,yes\n3,w,no\n"[..]), &options).unwrap();
    let zeros = write_encoded(&source, &known.encoder, UnknownCategory::Zeros, &options, 1 << 20);
    assert_eq!(zeros.unwrap().description.unknown_categories, 2);
    let same = properloss_data::read::read_encoded(
        &source,
        &known.encoder,
        UnknownCategory::Zeros,
        &options,
    );
    assert_eq!(same.unwrap().description.unknown_categories, 2);
    let refused = write_encoded(&source, &known.encoder, UnknownCategory::Error, &options, 1 << 20);
    assert!(refused.is_err());
    let svm = Source::memory("t.svm", &b"1 1:1\n2 1:2\n3 1:3\n1 2:1\n2 1:1\n"[..]);
    let two =
        ReadOptions::default().with_negative(vec!["1".into()]).with_positive(vec!["2".into()]);
    assert_eq!(blocks_of(&svm, &two, 1 << 20).description.dropped_other_class, 1);
}

/// Two wide values and a label of 9 bytes with its place: 25 bytes a row fill a block.
#[test]
fn blocks_are_as_large_as_asked_for() {
    let rows = |source: &Source, options: &ReadOptions, bytes: u64| -> Vec<u64> {
        blocks_of(source, options, bytes).blocks.facts().iter().map(|facts| facts.rows).collect()
    };
    let csv = Source::memory("t.csv", table().as_bytes());
    let ignored = ReadOptions::default().with_ignore(vec!["w".into()]);
    assert_eq!(rows(&csv, &ignored, 250), [10; 6]);
    assert_eq!(rows(&csv, &ignored, 251), [11, 11, 11, 11, 11, 5]);
    let single = ignored.clone().with_storage(Storage::F32);
    assert_eq!(rows(&csv, &single, 170), [10; 6]);
    // Two stored values of 12 bytes, a start and a label; the first start is one more.
    let svm = Source::memory("t.svm", sparse().as_bytes());
    assert_eq!(rows(&svm, &ReadOptions::default(), 41 * 6 + 8), [6; 10]);
    assert_eq!(rows(&svm, &ReadOptions::default(), 41 * 6 + 9)[0], 7);
    // What they take in the file, and what they will take in memory.
    let file = blocks_of(&csv, &ignored, 250).blocks;
    assert_eq!(file.bytes(), 60 * (2 * 8 + 1));
    assert_eq!(
        blocks_of(&svm, &ReadOptions::default(), 254).blocks.bytes(),
        120 * 12 + 60 + 8 * 70
    );
    let heavy = blocks_of(&csv, &weighted(), 1 << 20).blocks;
    assert_eq!(heavy.bytes(), heavy.rows() * (2 * 8 + 8 + 1));
    let scan = |source: &Source, options: &ReadOptions| {
        let scan = Scan::new(source, options).unwrap();
        (scan.rows(), scan.stored(), scan.bytes(options))
    };
    let wide = ignored.clone().with_storage(Storage::F64);
    assert_eq!(scan(&csv, &wide), (60, 120, 120 * 8 + 60));
    assert_eq!(scan(&csv, &single), (60, 120, 120 * 4 + 60));
    let wide = weighted().with_storage(Storage::F64);
    assert_eq!(scan(&csv, &wide), (60, 120, 120 * 8 + 60 * 9));
    assert_eq!(scan(&svm, &ReadOptions::default()), (60, 120, 120 * 12 + 60 * 33));
    // A twelfth of the memory, from 1 MB to 64 MB.
    assert_eq!(
        [0, 12 << 20, 48 << 20, 1 << 40].map(block_bytes),
        [1 << 20, 1 << 20, 4 << 20, 64 << 20]
    );
}

/// Labels, weights and values of all blocks, one after the other, twice.
#[test]
fn blocks_are_read_in_order_again_and_again() {
    let source = Source::memory("t.csv", table().as_bytes());
    let data = read(&source, &weighted()).unwrap();
    let cached = blocks_of(&source, &weighted(), 300);
    assert!(cached.blocks.facts().len() > 3);
    for _ in 0..2 {
        let (mut labels, mut weights, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        cached
            .blocks
            .for_each(|number, block| {
                numbers.push(number);
                assert_eq!(block.facts(), cached.blocks.facts()[number]);
                labels.extend_from_slice(block.labels());
                weights.extend_from_slice(block.weights().unwrap());
                Ok(())
            })
            .unwrap();
        assert_eq!((labels, weights), (data.labels.clone(), data.weights.clone().unwrap()));
        assert!(numbers.into_iter().eq(0..cached.blocks.facts().len()));
    }
    // Only a single block may be looked at as it is.
    assert!(!cached.blocks.look_at_one(&mut |_| panic!("there are several")).unwrap());
    let mut rows = 0;
    let one = blocks_of(&source, &weighted(), 1 << 20);
    assert!(one.blocks.look_at_one(&mut |block| rows = block.labels().len()).unwrap());
    assert_eq!(rows, data.rows());
}

struct Kept {
    folder: Directory,
    source: Source,
    fingerprint: Fingerprint,
}

const BYTES: u64 = 300;

fn kept(name: &str, text: &str, options: &ReadOptions) -> Kept {
    let folder = Directory::new();
    let source = Source::Path(folder.write(name, text.as_bytes()));
    let format = options.format_of(&source).unwrap();
    let fingerprint = Fingerprint::of(&source, format, options).unwrap();
    assert!(cache::open(&folder.0, &fingerprint, BYTES).unwrap().is_none());
    let scan = Scan::new(&source, options).unwrap();
    let to = Destination::Kept(&folder.0, &fingerprint);
    drop(scan.write(&source, options, to, BYTES).unwrap());
    Kept { folder, source, fingerprint }
}

#[test]
fn a_cache_is_the_rows_it_was_made_of() {
    for (name, text, options) in
        [("t.csv", table(), weighted()), ("t.svm", sparse(), ReadOptions::default())]
    {
        let Kept { folder, source, fingerprint } = kept(name, &text, &options);
        let found = cache::open(&folder.0, &fingerprint, BYTES).unwrap().unwrap();
        let fresh = blocks_of(&source, &options, BYTES);
        assert_eq!(found.blocks.facts(), fresh.blocks.facts());
        assert_eq!((found.encoder, found.description), (fresh.encoder, fresh.description));
        found.blocks.for_each(|_, _| Ok(())).unwrap();
        // Less memory than it was made with, or other rows: made again, not used.
        let reason = |result: properloss_data::Result<Option<cache::Cached>>| match result.err() {
            Some(Error::StaleCache { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert!(reason(cache::open(&folder.0, &fingerprint, BYTES - 1)).contains("blocks are of"));
        assert!(cache::open(&folder.0, &fingerprint, BYTES + 1).unwrap().is_some());
        let format = options.format_of(&source).unwrap();
        let other = options.clone().with_max_categories(7);
        let other = Fingerprint::of(&source, format, &other).unwrap();
        assert!(reason(cache::open(&folder.0, &other, BYTES)).contains("other options"));
        let second = Source::Path(folder.write(&format!("u{name}"), text.as_bytes()));
        let other = Fingerprint::of(&second, format, &options).unwrap();
        assert!(reason(cache::open(&folder.0, &other, BYTES)).contains("it was made of t."));
        folder.write(name, (text.clone() + "\n").as_bytes());
        let other = Fingerprint::of(&source, format, &options).unwrap();
        assert!(reason(cache::open(&folder.0, &other, BYTES)).contains("has changed"));
    }
}

/// The file with its header or its index changed, and the checksum mended.
fn changed(bytes: &[u8], edit: &dyn Fn(&mut Value, &mut Value)) -> Vec<u8> {
    let newline = |from: usize| from + bytes[from..].iter().position(|&b| b == b'\n').unwrap() + 1;
    let (first, start) = (newline(0), newline(newline(0)));
    let tail = bytes.len() - 12;
    let offset = u64::from_le_bytes(bytes[tail..tail + 8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[first..start]).unwrap();
    let mut index: Value = serde_json::from_slice(&bytes[offset..tail]).unwrap();
    edit(&mut header, &mut index);
    let (mut header, index) = (header.to_string(), index.to_string());
    // Spaces are none of the JSON: the blocks stay where they were.
    assert!(header.len() < start - first);
    while header.len() < start - first - 1 {
        header.push(' ');
    }
    let mut crc = flate2::Crc::new();
    crc.update(index.as_bytes());
    let head = [&bytes[..first], header.as_bytes(), b"\n"].concat();
    let offset = (head.len() + (offset - start)) as u64;
    let blocks = &bytes[start..start + (offset as usize - head.len())];
    [&head, blocks, index.as_bytes(), &offset.to_le_bytes(), &crc.sum().to_le_bytes()].concat()
}

/// Every number of the index that contradicts another is found before memory is taken for it.
#[test]
fn a_cache_that_contradicts_itself_is_refused() {
    for (name, text, options) in
        [("t.csv", table(), weighted()), ("t.svm", sparse(), ReadOptions::default())]
    {
        let Kept { folder, fingerprint, .. } = kept(name, &text, &options);
        let path = cache::file_in(&folder.0);
        let whole = std::fs::read(&path).unwrap();
        let open = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            cache::open(&folder.0, &fingerprint, BYTES)
        };
        assert!(open(&changed(&whole, &|_, _| {})).unwrap().is_some());
        let number = |value: &Value| value.as_u64().unwrap();
        let plus = |at: &'static str, by: i64| {
            move |_: &mut Value, index: &mut Value| {
                let value = index.pointer_mut(at).unwrap_or_else(|| panic!("{at}"));
                *value = number(value).saturating_add_signed(by).into();
            }
        };
        let edits: [&dyn Fn(&mut Value, &mut Value); 10] = [
            &plus("/entries/0/offset", 1),
            &plus("/entries/1/offset", -1),
            &plus("/entries/0/facts/rows", 1),
            &plus("/entries/1/facts/rows", -1),
            &plus("/entries/0/facts/columns", 1),
            &plus("/entries/0/facts/stored", 1),
            &|_, index| {
                let dense = index.pointer_mut("/entries/1/facts/dense").unwrap();
                *dense = (!dense.as_bool().unwrap()).into();
            },
            &plus("/entries/0/facts/counts/0", 1000),
            &|_, index| drop(index["entries"].as_array_mut().unwrap().pop()),
            &|header, _| header["block_bytes"] = 100.into(),
        ];
        for (k, edit) in edits.iter().enumerate() {
            match open(&changed(&whole, edit)).err() {
                Some(Error::Cache { .. }) => {}
                other => panic!("{name}, change {k}: {other:?}"),
            }
        }
        // What only the blocks themselves can tell is told by the first pass.
        let weights: &dyn Fn(&mut Value, &mut Value) = &|_, index| {
            *index.pointer_mut("/entries/1/facts/weights/0").unwrap() = 0.25.into();
        };
        let found = open(&changed(&whole, weights)).unwrap().unwrap();
        let error = found.blocks.for_each(|_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("block 2 of"), "{error}");
        // Cut anywhere it is damaged or stale, never a panic. (Shortened, not written again: a
        // file that is replaced is brought to the disk.)
        std::fs::write(&path, &whole).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        for length in (0..whole.len()).rev() {
            file.set_len(length as u64).unwrap();
            let found = cache::open(&folder.0, &fingerprint, BYTES);
            assert!(found.is_err(), "{name} cut to {length}");
        }
    }
}

/// Values that 4 bytes hold are stored in 4, a mean that fills them counts too.
#[test]
fn values_are_stored_as_narrow_as_they_are() {
    let bytes = |text: &str, options: &ReadOptions| {
        let blocks = blocks_of(&Source::memory("t.csv", text.as_bytes()), options, 1 << 20).blocks;
        blocks.bytes() / blocks.rows()
    };
    let plain = ReadOptions::default();
    let mean = ReadOptions::default().with_missing(properloss_data::Missing::Mean);
    assert_eq!(bytes("a,y\n1,0\n2.5,1\n3,0\n4,1\n", &plain), 4 + 1);
    assert_eq!(bytes("a,y\n1,0\n0.1,1\n3,0\n4,1\n", &plain), 8 + 1);
    assert_eq!(bytes("a,y\n1,0\n,1\n2,0\n3,1\n", &mean), 4 + 1);
    assert_eq!(bytes("a,y\n1,0\n,1\n1,0\n2,1\n", &mean), 8 + 1);
    assert_eq!(bytes("c,y\nu,0\nv,1\nu,0\nv,1\n", &plain), 2 * 4 + 1);
    assert_eq!(bytes("c,y\nu,0\n,1\nu,0\nv,1\n", &mean), 2 * 8 + 1);
    // Read with other precision, it is another cache.
    let folder = Directory::new();
    let source = Source::Path(folder.write("t.csv", table().as_bytes()));
    let format = plain.format_of(&source).unwrap();
    let of = |options: &ReadOptions| Fingerprint::of(&source, format, options).unwrap();
    let single = ReadOptions::default().with_storage(Storage::F32);
    let double = ReadOptions::default().with_storage(Storage::F64);
    assert_ne!(of(&single), of(&double));
    assert_eq!(of(&single), of(&single));
    let text = serde_json::to_string(&of(&single)).unwrap();
    assert!(text.contains("\"single_precision\":true"), "{text}");
}

/// Two classes that were named are found behind any number of other values.
#[test]
fn named_classes_stand_behind_many_others() {
    let others: String = (0..1500).map(|i| format!("{i},u,other{i}\n")).collect();
    let text = format!("a,c,y\n{others}1,v,no\n2,w,yes\n3,v,no\n4,w,yes\n");
    let options =
        ReadOptions::default().with_negative(vec!["no".into()]).with_positive(vec!["yes".into()]);
    let data = read(&Source::memory("t.csv", text.as_bytes()), &options).unwrap();
    assert_eq!((data.rows(), data.feature_names().len()), (4, 3));
    assert_eq!(data.description.dropped_other_class, 1500);
    // Images are of one file.
    let folder = Directory::new();
    let image =
        folder.write("a-images-idx3-ubyte", &[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7]);
    let again = folder.write("b-images-idx3-ubyte", &std::fs::read(&image).unwrap());
    let both = Source::files(std::path::Path::new("*-ubyte"), vec![image, again]);
    assert!(matches!(read(&both, &ReadOptions::default()), Err(Error::OtherPart { .. })));
}

/// The values of all rows of a file of blocks, with labels and weights.
fn rows_of(blocks: &BlockFile) -> (Vec<Vec<f64>>, Vec<u8>, Vec<f64>) {
    let (mut rows, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let each = blocks.for_each(|_, block| {
        for i in 0..block.labels().len() {
            let mut row = vec![0.0; blocks.columns()];
            block.matrix().for_each_in_row(i, |j, x| row[j] = x);
            rows.push(row);
        }
        labels.extend_from_slice(block.labels());
        weights.extend(block.weights().into_iter().flatten());
        Ok(())
    });
    each.unwrap();
    (rows, labels, weights)
}

/// Matrices that come one after the other (batches of a data frame, Dask's parts) are the same rows in
/// blocks, in every storage.
#[test]
fn matrices_go_into_blocks_row_by_row() {
    let values = [0.1, 2.0, 0.0, -3.0, 4.5, 0.0, 0.0, 8.0];
    let narrow = values.map(|x| x as f32);
    let rows: Vec<Vec<f64>> = values.chunks(2).map(<[f64]>::to_vec).collect();
    let (labels, weights) = ([0, 1, 1, 0], [1.0, 0.5, 2.0, 3.0]);
    let of = |layout: Layout, matrix: Matrix<'_>, weights: Option<&[f64]>| {
        let mut out = BlockWriter::temporary(None, layout, 40).unwrap();
        out.push_rows(&matrix, &labels, weights).unwrap();
        assert_eq!(out.rows(), 4);
        out.push_rows(&matrix, &labels, weights).unwrap();
        // Those that wait for their block count too.
        assert_eq!(out.rows(), 8);
        let blocks = out.finish(&DataDescription::default()).unwrap();
        assert_eq!(blocks.rows(), 8);
        assert!(blocks.facts().len() > 1, "{:?}", blocks.facts());
        rows_of(&blocks)
    };
    let twice = |all: &[Vec<f64>]| [all, all].concat();
    let dense = Layout::dense(2, Storage::F64);
    let matrix = Matrix::dense_f64(&values, 4, 2).unwrap();
    assert_eq!(of(dense, matrix, None), (twice(&rows), [labels, labels].concat(), vec![]));
    let mut weighted = dense;
    weighted.weighted = true;
    let expected = (twice(&rows), [labels, labels].concat(), [weights, weights].concat());
    assert_eq!(of(weighted, matrix, Some(&weights)), expected);
    // Rows without weights weigh 1.
    assert_eq!(of(weighted, matrix, None).2, [1.0; 8]);
    // In 4 bytes a tenth is another number.
    let single: Vec<Vec<f64>> =
        narrow.chunks(2).map(|row| row.iter().copied().map(f64::from).collect()).collect();
    assert_ne!(single, rows);
    assert_eq!(of(Layout::dense(2, Storage::F32), matrix, None).0, twice(&single));
    let matrix = Matrix::dense_f32(&narrow, 4, 2).unwrap();
    assert_eq!(of(Layout::dense(2, Storage::F32), matrix, None).0, twice(&single));
    // Sparse rows keep what is stored, an empty row too.
    let mut sparse = dense;
    sparse.sparse = true;
    let (starts, columns) = ([0usize, 2, 3, 3, 4], [0u32, 1, 1, 1]);
    let stored = [0.1, 2.0, -3.0, 8.0];
    let (starts, columns) = (Offsets::Usize(&starts), Indices::U32(&columns));
    let matrix = Matrix::csr(starts, columns, Values::F64(&stored), 2).unwrap();
    let expected = [[0.1, 2.0], [0.0, -3.0], [0.0, 0.0], [0.0, 8.0]].map(Vec::from);
    assert_eq!(of(sparse, matrix, None).0, twice(&expected));
    weighted.sparse = true;
    weighted.single = true;
    let (values, _, found) = of(weighted, matrix, Some(&weights));
    assert_eq!((values[1][1], values[7][1], found), (-3.0, 8.0, [weights, weights].concat()));
}

/// A cache is of several files, in their order; each of them counts.
#[test]
fn a_cache_knows_all_its_files() {
    let folder = Directory::new();
    let paths = [
        folder.write("a.csv", b"x,y\n1,no\n2,yes\n3,no\n"),
        folder.write("b.csv", b"x,y\n4,yes\n5,no\n"),
        folder.write("c.csv", b"x,y\n6,yes\n"),
    ];
    let options = ReadOptions::default();
    let of = |chosen: &[usize]| {
        let chosen = chosen.iter().map(|&k| paths[k].clone()).collect();
        let source = Source::files("*.csv".as_ref(), chosen);
        let fingerprint = Fingerprint::of(&source, Format::Csv, &options).unwrap();
        (source, fingerprint)
    };
    let (source, fingerprint) = of(&[0, 1]);
    let home = folder.0.join("cache");
    assert!(cache::open(&home, &fingerprint, 1 << 20).unwrap().is_none());
    let scan = Scan::new(&source, &options).unwrap();
    let to = Destination::Kept(&home, &fingerprint);
    drop(scan.write(&source, &options, to, 1 << 20).unwrap());
    assert_eq!(cache::file_in(&home), home.join("rows.blocks"));
    assert!(cache::file_in(&home).is_file());
    let found = cache::open(&home, &fingerprint, 1 << 20).unwrap().unwrap();
    assert_eq!((found.blocks.rows(), found.classes()), (5, ["no".into(), "yes".into()]));
    assert_eq!(rows_of(&found.blocks).0.concat(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    let reason = |chosen: &[usize]| match cache::open(&home, &of(chosen).1, 1 << 20) {
        Err(Error::StaleCache { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(&[0, 1, 2]), "it was made of 2 file(s), not 3");
    assert_eq!(reason(&[0]), "it was made of 2 file(s), not 1");
    assert_eq!(reason(&[1, 0]), "it was made of a.csv, not of b.csv");
    assert_eq!(reason(&[0, 2]), "it was made of b.csv, not of c.csv");
    folder.write("b.csv", b"x,y\n4,yes\n5,yes\n");
    assert_eq!(reason(&[0, 1]), "b.csv has changed since it was made");
    // Memory has no time of change, and is no other program's file.
    let memory = Source::memory("a.csv", *b"x,y\n1,no\n2,yes\n");
    let error = Fingerprint::of(&memory, Format::Csv, &options).unwrap_err();
    assert!(error.to_string().contains("only files can be recognised again"), "{error}");
}

/// A change in the middle of a large file is seen by its time, one at its ends by its bytes.
#[test]
fn the_ends_of_a_file_tell_a_change_that_keeps_its_time() {
    let folder = Directory::new();
    let rows: String = (0..40_000).map(|i| format!("{},{}\n", i % 10, i % 2)).collect();
    let text = format!("x,y\n{rows}");
    let path = folder.write("a.csv", text.as_bytes());
    let at = std::fs::metadata(&path).unwrap().modified().unwrap();
    let of = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        Fingerprint::of(&Source::Path(path.clone()), Format::Csv, &ReadOptions::default()).unwrap()
    };
    let first = of(text.as_bytes());
    assert_eq!(of(text.as_bytes()), first);
    let changed = |at: usize| {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        of(&bytes)
    };
    assert!(text.len() > 150_000);
    for end in [4, (1 << 16) - 1, text.len() - (1 << 16), text.len() - 2] {
        assert_ne!(changed(end), first, "byte {end}");
    }
    assert_eq!(changed(80_000), first);
}

/// What stands in the place of a cache is refused before anything is decoded.
#[test]
fn the_place_of_a_cache_must_be_a_directory() {
    let folder = Directory::new();
    let source = Source::Path(folder.write("t.csv", table().as_bytes()));
    let fingerprint = Fingerprint::of(&source, Format::Csv, &weighted()).unwrap();
    let error = cache::open(source.path().unwrap().unwrap(), &fingerprint, BYTES).unwrap_err();
    assert!(matches!(error, Error::Write { .. }), "{error}");
    assert!(error.to_string().contains("it is a file"), "{error}");
    // Another version, and something else.
    let name = cache::file_in(&folder.0);
    for bytes in [&b"properloss-blocks 2\n{}\n"[..], b"x,y\n1,0\n", b""] {
        std::fs::write(&name, bytes).unwrap();
        match cache::open(&folder.0, &fingerprint, BYTES) {
            Err(Error::StaleCache { reason, .. }) => {
                assert_eq!(reason, "it is no file of blocks of this version");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(folder.names(), ["rows.blocks", "t.csv"]);
}

/// Rows in memory by a scan are those of a reader, weights and sparse rows too.
#[test]
fn a_scan_reads_into_memory_as_well() {
    for (name, text, options) in [
        ("t.csv", table(), weighted()),
        ("t.csv", table(), ReadOptions::default().with_storage(Storage::F32)),
        ("t.svm", sparse(), ReadOptions::default()),
    ] {
        let source = Source::memory(name, text.as_bytes());
        let scan = Scan::new(&source, &options).unwrap();
        let whole = properloss_data::read_examples(&source, &options).unwrap();
        assert_eq!(*scan.encoder(), read(&source, &options).unwrap().encoder);
        assert_eq!(scan.read(&source, &options).unwrap(), whole);
    }
    // A class without weight, and rows of no weight: as in memory.
    let text = "a,w,y\n1,1,0\n2,0,0\n3,2,1\n4,0,1\n";
    let source = Source::memory("t.csv", text.as_bytes());
    let cached = blocks_of(&source, &weighted(), 1 << 20);
    assert_eq!(rows_of(&cached.blocks), (vec![vec![1.0], vec![3.0]], vec![0, 1], vec![1.0, 2.0]));
    let none = Source::memory("t.csv", &b"a,w,y\n1,1,no\n2,3,no\n3,0,yes\n4,0,yes\n"[..]);
    let scan = Scan::new(&none, &weighted()).unwrap();
    match scan.write(&none, &weighted(), Destination::Temporary, 1 << 20) {
        Err(Error::ZeroWeights { place, class }) => {
            assert_eq!((place.column.as_deref(), class.as_str()), (Some("w"), "yes"));
        }
        other => panic!("{other:?}"),
    }
    // Images are not read in blocks.
    let image = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7];
    let image = Source::memory("a-images-idx3-ubyte", image);
    assert!(matches!(Scan::new(&image, &weighted()), Err(Error::NoBlocks { .. })));
    // Rows that a model encodes, all of other classes: none is left.
    let two =
        ReadOptions::default().with_negative(vec!["no".into()]).with_positive(vec!["yes".into()]);
    let known = read(&Source::memory("k.csv", *b"a,y\n1,no\n2,yes\n"), &two).unwrap();
    let other = Source::memory("o.csv", *b"a,y\n1,maybe\n2,maybe\n");
    let unknown = UnknownCategory::Error;
    let error = write_encoded(&other, &known.encoder, unknown, &two, 1 << 20).unwrap_err();
    assert!(matches!(error, Error::NoRows { .. }), "{error}");
}

/// A failure of the one who looks at the blocks ends the pass and is told; the next pass is whole.
#[test]
fn a_pass_over_blocks_can_be_ended() {
    let source = Source::memory("t.csv", table().as_bytes());
    let blocks = blocks_of(&source, &weighted(), 300).blocks;
    let count = blocks.facts().len();
    for stop in 0..count {
        let mut seen = 0;
        let ended = blocks.for_each(|number, _| {
            seen += 1;
            if number == stop { Err(properloss::Error::Interrupted) } else { Ok(()) }
        });
        assert!(matches!(ended, Err(properloss::Error::Interrupted)));
        assert_eq!(seen, stop + 1);
    }
    let mut seen = 0;
    blocks
        .for_each(|_, _| {
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, count);
}

/// Blocks of a cache that was cut while it is used end the pass with their number.
#[test]
fn a_cache_that_shrinks_is_told() {
    let Kept { folder, fingerprint, .. } = kept("t.csv", &table(), &weighted());
    let found = cache::open(&folder.0, &fingerprint, BYTES).unwrap().unwrap();
    let count = found.blocks.facts().len();
    let bytes = std::fs::metadata(cache::file_in(&folder.0)).unwrap().len();
    let file = std::fs::File::options().write(true).open(cache::file_in(&folder.0)).unwrap();
    file.set_len(bytes / 2).unwrap();
    let error = found.blocks.for_each(|_, _| Ok(())).unwrap_err().to_string();
    assert!(error.contains(&format!(" of {count} ends early")), "{error}");
}

/// A row may be wider than a block is to be; the cache of such blocks is not taken for a damaged one.
#[test]
fn a_row_wider_than_a_block_is_a_block() {
    let names: Vec<String> = (0..100).map(|j| format!("x{j}")).collect();
    let row = |i: usize| (0..100).map(|j| format!("{}.1,", i + j)).collect::<String>();
    let rows: String = (0..4).map(|i| format!("{}{}\n", row(i), i % 2)).collect();
    let entry = |i: usize| (1..=100).map(|j| format!(" {j}:{}.1", i + j)).collect::<String>();
    let lines: String = (0..4).map(|i| format!("{}{}\n", i % 2, entry(i))).collect();
    for (name, text) in [("t.csv", format!("{},y\n{rows}", names.join(","))), ("t.svm", lines)] {
        let folder = Directory::new();
        let options = ReadOptions::default();
        let source = Source::Path(folder.write(name, text.as_bytes()));
        let format = options.format_of(&source).unwrap();
        let fingerprint = Fingerprint::of(&source, format, &options).unwrap();
        assert!(cache::open(&folder.0, &fingerprint, 100).unwrap().is_none());
        let scan = Scan::new(&source, &options).unwrap();
        let to = Destination::Kept(&folder.0, &fingerprint);
        drop(scan.write(&source, &options, to, 100).unwrap());
        let found = cache::open(&folder.0, &fingerprint, 100).unwrap().unwrap();
        assert_eq!(found.blocks.facts().len(), 4, "{name}");
        assert_eq!(rows_of(&found.blocks).0[3][99], 102.1 + f64::from(u8::from(name == "t.svm")));
    }
}

/// A cache that is there and cannot be opened is told, not made anew.
#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_opened_is_told() {
    let folder = Directory::new();
    let source = Source::Path(folder.write("t.csv", table().as_bytes()));
    let fingerprint = Fingerprint::of(&source, Format::Csv, &weighted()).unwrap();
    let name = cache::file_in(&folder.0);
    std::os::unix::fs::symlink(&name, &name).unwrap();
    let error = cache::open(&folder.0, &fingerprint, BYTES).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
}

/// A fit asks its questions of the blocks, and finds what a fit of the same rows in memory finds.
#[test]
fn a_fit_of_blocks_is_the_fit_of_the_rows() {
    use properloss_data::training::Training;
    let row = |i: i32| format!("{},{},{}\n", i % 13, (i * i) % 11, u8::from((i * 7) % 13 < i % 9));
    let text = "a,b,y\n".to_owned() + &(0..200).map(row).collect::<String>();
    let source = Source::memory("t.csv", text.as_bytes());
    let options = ReadOptions::default();
    let data = read(&source, &options).unwrap();
    let blocks = blocks_of(&source, &options, 500).blocks;
    assert!(blocks.facts().len() > 5);
    let stop = std::sync::atomic::AtomicBool::new(false);
    for name in ["logistic", "proper"] {
        let training = Training::named(name).unwrap();
        let silent = &mut properloss::train::Silent;
        let whole = training.run(&data.sample().unwrap(), &stop, silent).unwrap();
        let parts = training.run_blocks(&blocks, &stop, silent).unwrap();
        let (a, b) = (whole.fit.model.coefficients(), parts.fit.model.coefficients());
        // The default deals its folds otherwise where rows are in blocks.
        let tolerance = if name == "logistic" { 1e-9 } else { 0.1 };
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < tolerance, "{name}: {a} {b}");
        }
        assert_eq!(whole.total_weight, parts.total_weight);
    }
}
