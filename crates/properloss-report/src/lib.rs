//! One page about a probability forecast: can it be trusted, what was learned, where to put the
//! threshold.
//!
//! The page is one file of HTML: pictures as SVG, one block of data, one style and one script whose
//! hashes its policy names (`default-src 'none'`), so that it asks for nothing from anywhere. It
//! stays below 1 MB for any number of rows, and is read without its script too.
//!
//! | module | what it holds |
//! |---|---|
//! | [`subject`] | a model and what is known of it |
//! | [`evaluation`], [`thresholds`] | forecasts and outcomes, summarised by one sort |
//! | `band` | what calibrated forecasts would look like |
//! | `verdict` | the verdict in words |
//! | `quality`, `learned`, [`class_learned`], `weights`, `details` | the figures: of the forecasts, of the model, of the fit |
//! | `decide`, `fit`, `sections` | sliders and matrices; what is known of the fit; the parts in order |
//! | `figure`, [`svg`], [`text`] | pictures, tables, words made safe |
//! | [`page`](mod@page), [`several`], [`card`](mod@card) | the page; that of several classes; the card of a notebook |
#![forbid(unsafe_code)]

mod band;
pub mod card;
mod certificate;
pub mod class_learned;
mod decide;
mod details;
pub mod evaluation;
mod figure;
mod fit;
mod learned;
pub mod moments;
pub mod page;
mod quality;
mod readable;
mod sections;
pub mod several;
pub mod subject;
pub mod svg;
pub mod text;
pub mod thresholds;
mod verdict;
mod weights;

pub use card::card;
pub use evaluation::Evaluation;
pub use learned::matched_sigmoid;
pub use moments::Moments;
pub use page::{Measured, page};
pub use several::{ClassForecasts, ClassRows, page_of_classes};
pub use subject::{ClassSubject, Subject};
