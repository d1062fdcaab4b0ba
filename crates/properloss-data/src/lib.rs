//! Readers, generators and model files for properloss.
