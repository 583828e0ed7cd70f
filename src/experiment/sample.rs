//! Estimate of the number of published samples, from the distance of their means to ours.

/// An estimate of an unknown number of samples.
///
/// If the difference between a published mean of N samples and the true mean is normal with the standard
/// deviation s / sqrt(N), the sum of (difference/s)^2 over k independent cells is chi-squared with k degrees of
/// freedom, divided by N.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleSize {
    /// Cells that it rests on.
    pub cells: usize,
    /// The most likely N: k over the sum.
    pub likely: f64,
    /// The N below which the published means would agree too well (2.5 % quantile).
    pub lowest: f64,
    /// The N above which they would differ too much (97.5 % quantile).
    pub highest: f64,
}

impl SampleSize {
    /// The estimate from the samples that single cells imply, (s/difference)^2 each; `None` without cells.
    pub fn estimate(implied: &[f64]) -> Option<SampleSize> {
        let cells = implied.len();
        let sum: f64 = implied.iter().map(|n| 1.0 / n).sum();
        (cells > 0 && sum > 0.0).then(|| SampleSize {
            cells,
            likely: cells as f64 / sum,
            lowest: chi_squared(cells, -1.959_964) / sum,
            highest: chi_squared(cells, 1.959_964) / sum,
        })
    }
}

/// The chi-squared quantile at the normal quantile `z`.
///
/// The formula of Wilson and Hilferty, 1931, is within 20 % in the lower and 1 % in the upper tail for 3 degrees of freedom.
fn chi_squared(degrees: usize, z: f64) -> f64 {
    let k = degrees as f64;
    let root = 1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt();
    k * root.max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_published_ones() {
        // Degrees of freedom, 2.5 % and 97.5 % quantiles.
        for (k, low, high) in [(3, 0.2158, 9.348), (6, 1.237, 14.449), (30, 16.791, 46.979)] {
            assert!((chi_squared(k, -1.959_964) / low - 1.0).abs() < 0.2);
            assert!((chi_squared(k, 1.959_964) / high - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn cells_that_imply_the_same_sample_size_give_it() {
        let estimate = SampleSize::estimate(&[200.0; 4]).unwrap();
        assert!((estimate.likely - 200.0).abs() < 1e-9 && estimate.lowest < 200.0 && estimate.highest > 200.0);
        assert_eq!(SampleSize::estimate(&[]), None);
    }
}
