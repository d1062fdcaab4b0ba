//! Examples as CSV.

use std::io::{self, Write};

use crate::dataset::Dataset;

/// Writes the encoded features, any further columns of one number a row, the weights (as `weight`)
/// and the label (as `label`, last) as CSV with a header; numbers in their shortest exact form.
pub fn write_csv(
    dataset: &Dataset,
    further: &[(&str, &[f64])],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let further_names = further.iter().map(|(name, _)| *name);
    let weight_name = dataset.weights.as_ref().map(|_| "weight");
    let names = dataset.feature_names();
    let names = names.iter().map(String::as_str);
    writer.write_record(names.chain(further_names).chain(weight_name).chain(["label"]))?;
    let mut row = vec![0.0; dataset.columns()];
    for i in 0..dataset.rows() {
        dataset.features.copy_row(i, &mut row);
        for x in &row {
            writer.write_field(shortest(*x))?;
        }
        for (_, values) in further {
            writer.write_field(shortest(values[i]))?;
        }
        if let Some(weights) = &dataset.weights {
            writer.write_field(shortest(weights[i]))?;
        }
        writer.write_field(&dataset.classes[usize::from(dataset.labels[i])])?;
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

/// `1e-7` and `0.1`, not `0.0000001`; integers without a point.
fn shortest(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e15 { format!("{x}") } else { format!("{x:?}") }
}
