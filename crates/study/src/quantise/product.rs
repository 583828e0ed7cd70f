//! Error of a product of quantised weights with activations.

use crate::{
    Error, Result,
    array::{ArrayFile, StreamedArray},
    base::vectors::vectorised,
    format::block::{BlockFormat, Quantizer},
    tensor::{Energies, FileContent},
};

use super::view::TensorRows;

/// Activations of layers.
#[derive(Debug, Clone)]
pub struct Activations {
    layers: Vec<LayerActivations>,
}

/// Rows of activations, which are multiplied by the rows of tensors of as many columns.
#[derive(Debug, Clone)]
pub(super) struct LayerActivations {
    /// Name of the array.
    name: String,
    values: Vec<f32>,
    /// Errors of the quantised values, if they are quantised too.
    changes: Option<Vec<f32>>,
    columns: usize,
}

impl Activations {
    /// The arrays of a file, rows along their last axes; quantised to a format, if one is named.
    ///
    /// A format of at most 8 bits has a scale of f32 for each row, by `nearest`; a block format its own rule.
    ///
    /// # Errors
    /// A request error: a file that cannot be read, values that are no finite numbers, a format of more than 8 bits.
    pub fn read(file: &ArrayFile, to: Option<&str>) -> Result<Activations> {
        let format = match to.map(FileContent::named).transpose()? {
            Some(FileContent::Blocks(format)) => Some(format),
            Some(FileContent::Scalar(Some(format))) => {
                Some(BlockFormat::with_f32_scales(format, 1, BlockFormat::WHOLE)?)
            }
            _ => None,
        };
        let layers = file.arrays.iter().map(|array| LayerActivations::read(file, array, format));
        Ok(Activations { layers: layers.collect::<Result<_>>()? })
    }

    /// The activations of a tensor with this name and rows of this length.
    ///
    /// A file of several arrays has them under the name of the tensor, or that without `.weight`.
    pub(super) fn of(&self, tensor: &str, columns: usize) -> Option<&LayerActivations> {
        let layer = tensor.strip_suffix(".weight").unwrap_or(tensor);
        let named = |activations: &&LayerActivations| {
            self.layers.len() == 1 || activations.name == tensor || activations.name == layer
        };
        self.layers.iter().filter(named).find(|activations| activations.columns == columns)
    }

    /// Names of the arrays, with the lengths of their rows.
    pub(super) fn described(&self) -> String {
        let one = |activations: &LayerActivations| {
            format!("'{}' has rows of {} values", activations.name, activations.columns)
        };
        self.layers.iter().take(3).map(one).collect::<Vec<_>>().join(", ")
    }
}

impl LayerActivations {
    fn read(file: &ArrayFile, array: &StreamedArray, format: Option<&'static BlockFormat>) -> Result<LayerActivations> {
        let view = TensorRows::new(file, array, Some(-1))?;
        let mut values = Vec::new();
        let (mut bytes, mut some) = (Vec::new(), Vec::new());
        for panel in view.panels(1, view.columns.max(1)) {
            view.read(&panel, &mut bytes, &mut some)?;
            values.extend_from_slice(&some);
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::request(format!(
                "array '{}': activation {at} is {}; give finite numbers",
                array.name, values[at]
            )));
        }
        let changes = format.map(|format| {
            let quantised = Quantizer::new(format).quantize(&values, view.columns).dequantize();
            quantised.iter().zip(&values).map(|(after, before)| after - before).collect()
        });
        Ok(LayerActivations { name: array.name.clone(), values, changes, columns: view.columns })
    }

    /// Energies of the products with rows of `x`, and of their changes with rows of `y`.
    pub(super) fn losses(&self, x: &[f32], y: &[f32]) -> Energies {
        let mut sum = Energies::default();
        for (x, y) in x.chunks(self.columns).zip(y.chunks(self.columns)) {
            let errors: Vec<f32> = x.iter().zip(y).map(|(x, y)| y - x).collect();
            for (row, token) in self.values.chunks(self.columns).enumerate() {
                let (value, mut error) = (dot(token, x), dot(token, &errors));
                if let Some(changes) = &self.changes {
                    error += dot(&changes[row * self.columns..][..token.len()], y);
                }
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
