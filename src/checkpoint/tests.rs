//! Tests of checkpoints.
