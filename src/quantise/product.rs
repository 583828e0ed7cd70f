//! Error of a product of quantised weights with activations.

use crate::{Error, Result, array::ArrayFile, base::vectors::vectorised};

use super::view::TensorRows;

/// Rows of activations, which are multiplied by the rows of tensors of as many columns.
#[derive(Debug, Clone)]
pub struct Activations {
    values: Vec<f32>,
    columns: usize,
}

/// Sums over the elements of a product: squares of its values, and of the changes by quantisation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProductLosses {
    pub(super) signal: f64,
    pub(super) noise: f64,
}

impl ProductLosses {
    pub(super) fn add(&mut self, other: ProductLosses) {
        self.signal += other.signal;
        self.noise += other.noise;
    }

    /// The norm of the change over the norm of the product.
    pub(super) fn relative(&self) -> Option<f64> {
        (self.signal > 0.0).then(|| (self.noise / self.signal).sqrt())
    }
}

impl Activations {
    /// The array of this file, rows along its last axis.
    ///
    /// # Errors
    /// A request error: a file with another number of arrays, one that cannot be read, values that are no finite numbers.
    pub fn read(file: &ArrayFile) -> Result<Activations> {
        let [array] = file.arrays.as_slice() else {
            return Err(Error::request(format!("expected one array of activations, not {}", file.arrays.len())));
        };
        let view = TensorRows::new(file, array, -1)?;
        let mut values = Vec::new();
        let (mut bytes, mut some) = (Vec::new(), Vec::new());
        for panel in view.panels((1, view.columns.max(1))) {
            view.read(&panel, &mut bytes, &mut some)?;
            values.extend_from_slice(&some);
        }
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(Error::request(format!("activation {at} is {}; give finite numbers", values[at]))),
            None => Ok(Activations { values, columns: view.columns }),
        }
    }

    /// Values of a row.
    pub(super) fn row(&self) -> usize {
        self.columns
    }

    /// True if a tensor with this many columns can be multiplied.
    pub(super) fn fit(&self, columns: usize) -> bool {
        self.columns == columns
    }

    /// The products with rows of `x`, and how far those with `y` are from them.
    pub(super) fn losses(&self, x: &[f32], y: &[f32]) -> ProductLosses {
        let mut sum = ProductLosses::default();
        for (x, y) in x.chunks(self.columns).zip(y.chunks(self.columns)) {
            let errors: Vec<f32> = x.iter().zip(y).map(|(x, y)| y - x).collect();
            for token in self.values.chunks(self.columns) {
                let (value, error) = (dot(token, x), dot(token, &errors));
                if value.is_finite() && error.is_finite() {
                    sum.signal += value * value;
                    sum.noise += error * error;
                }
            }
        }
        sum
    }
}

vectorised! {
    /// The sum of the products, in f32 for some terms at a time and in f64 over them.
    fn dot(x: &[f32], y: &[f32]) -> f64 {
        let mut sum = 0.0;
        for (x, y) in x.chunks(512).zip(y.chunks(512)) {
            let mut lanes = [0f32; 16];
            let (x_lanes, y_lanes) = (x.as_chunks::<16>(), y.as_chunks::<16>());
            for (x, y) in x_lanes.0.iter().zip(y_lanes.0) {
                for lane in 0..16 {
                    lanes[lane] += x[lane] * y[lane];
                }
            }
            for (x, y) in x_lanes.1.iter().zip(y_lanes.1) {
                lanes[0] += x * y;
            }
            for lane in lanes {
                sum += f64::from(lane);
            }
        }
        sum
    }
}
