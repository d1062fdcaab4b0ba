//! Rows in blocks: the same rows as in memory, blocks of the size asked for, caches that know theirs.

mod common;

use common::Directory;
use properloss::rows::{Block, BlockFacts, Blocks};
use properloss_data::stream::{Destination, Fingerprint, Scan, block_bytes, cache, write_encoded};
use properloss_data::{Error, ReadOptions, Source, Storage, UnknownCategory, read};
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
        // Cut anywhere it is damaged or stale, never a panic.
        for length in 0..whole.len() {
            assert!(open(&whole[..length]).is_err(), "{name} cut to {length}");
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
