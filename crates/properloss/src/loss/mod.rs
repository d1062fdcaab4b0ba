//! Proper losses: canonical, composite, and the check that a loss is proper.

mod canonical;
mod composite;
mod generator;
mod of_link;
mod properness;

pub use canonical::{CanonicalLoss, Symmetry};
pub use composite::CompositeLoss;
pub use generator::{ConvexGenerator, Generator, LinkGenerator};
pub use of_link::{Loss, LossKind};
pub use properness::{PartialLosses, Properness, check_properness};
