//! Arguments of `data get`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// The commands of `data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Download a data set, check it, and resume where an earlier download stopped.
    Get(GetArgs),
}

/// Arguments of `data get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The data set.
    pub set: ImageSet,
    /// The directory; the files go into `mnist/` or `fashion-mnist/` below it.
    #[arg(short, long, value_name = "DIR", default_value = "data")]
    pub out: PathBuf,
    /// Download from URL/FILE instead of the public mirrors; may be repeated, tried in order.
    #[arg(long, value_name = "URL")]
    pub mirror: Vec<String>,
}

/// A public data set of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageSet {
    /// Handwritten digits, 60,000 to train and 10,000 to test (11 MB).
    Mnist,
    /// Pictures of clothes, in the same format (30 MB).
    FashionMnist,
}
