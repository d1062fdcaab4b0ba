//! Reads a file of examples, then encodes it again row by row as prediction does, and says how long
//! each took: `cargo run --release -p properloss-data --example read_file -- data/breast_cancer.csv`.

use std::time::Instant;

use properloss_data::read::for_each_row;
use properloss_data::{Error, ReadOptions, Source, UnknownCategory, read};

fn main() -> Result<(), Error> {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: read_file FILE");
        return Ok(());
    };
    let source = Source::Path(path.into());
    let options = ReadOptions::default();
    let start = Instant::now();
    let data = read(&source, &options)?;
    println!(
        "{} rows, {} features, {} of class {:?}; read in {:.3} s",
        data.rows(),
        data.columns(),
        data.positives(),
        data.classes[1],
        start.elapsed().as_secs_f64()
    );
    let encoder = data.encoder.clone();
    drop(data);
    let (start, mut rows, mut sum) = (Instant::now(), 0u64, 0.0);
    for_each_row(&source, &encoder, UnknownCategory::Error, &options, |row| {
        rows += 1;
        sum += row.features.iter().sum::<f64>();
        Ok::<(), Error>(())
    })?;
    println!(
        "{rows} rows encoded one by one in {:.3} s (sum {sum})",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
