//! Tests of checkpoints.

mod conventions;
mod damage;
mod decoded;
mod doubts;
mod drawn;
mod fused;
mod layouts;
mod likeness;
mod written;

use std::{collections::BTreeMap, fs, path::Path};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{CheckpointTensorRow, Survey, compare};
use crate::{
    array::{Array, ArrayFile, Arrays, Content},
    checkpoint::{Checkpoint, GlobalScale, Layout, swizzle},
    convert::FileConversion,
    format::{
        Overflow, Real, Rounding,
        block::{BlockFormat, Quantizer, find as block, formats as block_formats, pack_pairs},
        find,
    },
    tensor::{ArrayNames, ConversionTarget, FileContent, Sharing, TensorChoice},
};

fn array(name: &str, shape: &[usize], kind: Content, bytes: Vec<u8>) -> Array<'static> {
    Array { name: name.into(), shape: shape.to_vec(), kind, bytes: bytes.into() }
}

fn format(name: &str) -> Content {
    Content::Format(find(name).unwrap())
}

const BYTES: Content = Content::Unsigned(1);

fn single(value: f32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn write(path: &Path, arrays: &[Array<'static>]) {
    Arrays { arrays: arrays.to_vec(), metadata: BTreeMap::new() }.write(path).unwrap();
}

fn open(path: &Path) -> Checkpoint {
    Checkpoint::open(path, None, None).unwrap()
}

fn values(checkpoint: &Checkpoint, name: &str) -> Vec<f32> {
    let tensor = checkpoint.get(name).unwrap();
    tensor.pieces().flat_map(|piece| checkpoint.read(tensor, &piece, None).unwrap()).collect()
}

/// Weights like those of a model.
fn weights(count: usize) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let uniform = |random: &mut ChaCha8Rng| random.random_range(-1.0f32..1.0);
    (0..count).map(|_| (0..6).map(|_| uniform(&mut random)).sum::<f32>() * 0.02).collect()
}

/// A tensor of NVFP4: codes, codes of scales and the scale of the tensor, which multiplies.
struct Nvfp4 {
    shape: [usize; 2],
    codes: Vec<u8>,
    scales: Vec<u8>,
    tensor_scale: f32,
    values: Vec<f32>,
}

fn nvfp4(rows: usize, columns: usize) -> Nvfp4 {
    let mut weights = weights(rows * columns);
    // A block of zeros shows where scales are.
    let zeros = (columns - 32).min(224);
    weights[zeros..zeros + 16].fill(0.0);
    let blocks = Quantizer::new(block("nvfp4").unwrap()).quantize(&weights, columns);
    Nvfp4 {
        shape: [rows, columns],
        values: blocks.dequantize(),
        tensor_scale: f32::from_bits(blocks.tensor_scale.unwrap() as u32),
        codes: blocks.elements,
        scales: blocks.scales.iter().map(|code| *code as u8).collect(),
    }
}

impl Nvfp4 {
    /// The arrays of ModelOpt.
    fn modelopt(&self) -> Vec<Array<'static>> {
        let [rows, columns] = self.shape;
        vec![
            array("l.weight", &[rows, columns / 2], BYTES, pack_pairs(&self.codes, columns)),
            array("l.weight_scale", &[rows, columns / 16], format("e4m3"), self.scales.clone()),
            array("l.weight_scale_2", &[], format("f32"), single(self.tensor_scale)),
        ]
    }

    /// The arrays of compressed-tensors, with this global scale.
    fn compressed(&self, global: f32) -> Vec<Array<'static>> {
        let mut arrays = self.modelopt();
        arrays[0].name = "l.weight_packed".into();
        arrays[2] = array("l.weight_global_scale", &[1], format("f32"), single(global));
        arrays
    }

    /// Codes with the nibbles of a byte 16 apart.
    fn halves(&self) -> Vec<u8> {
        self.codes
            .chunks(32)
            .flat_map(|run| (0..16).map(|at| run[at] | run[at + 16] << 4).collect::<Vec<u8>>())
            .collect()
    }

    /// Scales in tiles of 128 rows and 4 columns.
    fn tiles(&self) -> Vec<u8> {
        let columns = self.shape[1] / 16;
        let mut tiles = vec![0; swizzle::padded(self.shape[0], columns).unwrap()];
        for (at, scale) in self.scales.iter().enumerate() {
            tiles[swizzle::place(at / columns, at % columns, columns)] = *scale;
        }
        tiles
    }
}
