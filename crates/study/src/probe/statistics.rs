//! Counts and measurements of a probe.

use crate::summary::Summary;

/// Upper edges of the histogram of errors in ulp.
///
/// The first bucket holds exact results, bucket i the errors in (edge i-1, edge i], the last one larger errors.
pub const HISTOGRAM_EDGES: [f64; 10] = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1024.0, f64::INFINITY];

/// The comparison of one sample with its references.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SampleTally {
    /// Equal to the reference in f32 (f64, integer) arithmetic, in every bit; NaN equals NaN.
    pub f32_equal: bool,
    /// Equal to that reference rounded to the format of D.
    pub f32_rounded_equal: bool,
    /// Equal to the correctly rounded exact result.
    pub exact_equal: bool,
    /// `|d - reference|`; `None` if either is not finite.
    pub f32_error: Option<f64>,
    /// `|d - reference rounded to the format of D|`; `None` if either is not finite.
    pub f32_rounded_error: Option<f64>,
    /// Absolute error against the exact result; `None` if either is not finite.
    pub absolute: Option<f64>,
    /// Relative error against the exact result; `None` if that is zero and d is not.
    pub relative: Option<f64>,
    /// Error against the exact result in ulp of the format of D.
    pub ulps: Option<f64>,
}

/// Counts and measurements of one probe.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// Samples.
    pub samples: u64,
    /// Samples equal to the model in every bit; `None` without a model.
    pub model: Option<u64>,
    /// Elements of D compared with the model, samples or not.
    pub elements: u64,
    /// Elements of D that differ from the model.
    pub element_mismatches: u64,
    /// Samples equal to the reference in f32 (f64, integer) arithmetic.
    pub f32: u64,
    /// Samples equal to that reference rounded to the format of D.
    pub f32_rounded: u64,
    /// Samples equal to the correctly rounded exact result.
    pub exact: u64,
    /// Errors against the f32 reference.
    pub f32_error: Summary,
    /// Errors against the f32 reference rounded to the format of D.
    pub f32_rounded_error: Summary,
    /// Absolute errors against the exact result.
    pub absolute: Summary,
    /// Relative errors against the exact result.
    pub relative: Summary,
    /// Errors against the exact result in ulp.
    pub ulps: Summary,
    /// Counts of errors in ulp (see [`HISTOGRAM_EDGES`]).
    pub histogram: [u64; HISTOGRAM_EDGES.len()],
}

impl Profile {
    /// Adds a sample.
    pub fn add(&mut self, tally: &SampleTally) {
        self.samples += 1;
        self.f32 += u64::from(tally.f32_equal);
        self.f32_rounded += u64::from(tally.f32_rounded_equal);
        self.exact += u64::from(tally.exact_equal);
        self.f32_error.add(tally.f32_error);
        self.f32_rounded_error.add(tally.f32_rounded_error);
        self.absolute.add(tally.absolute);
        self.relative.add(tally.relative);
        self.ulps.add(tally.ulps);
        if let Some(ulps) = tally.ulps {
            let bucket = HISTOGRAM_EDGES.iter().position(|edge| ulps <= *edge);
            self.histogram[bucket.unwrap_or(HISTOGRAM_EDGES.len() - 1)] += 1;
        }
    }

    /// Samples without an error: the result or the exact value is infinite or NaN.
    pub fn not_finite(&self) -> u64 {
        self.samples - self.absolute.count()
    }
}
