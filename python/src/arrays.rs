//! Conversions of arrays: values to codes, codes to values, values to blocks and back.

use std::ops::BitOr;

use numpy::{PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyModule};
use tcnum::{
    Error,
    format::{
        Format, Overflow, Rounding,
        block::{self, Blocks, Quantizer},
        find,
        slices::{Code, Decoder, Encoder},
    },
    isa::Codes,
};
use tcnum_engine::tensor::{self, ConversionTarget, FileContent, Tensor};

use crate::{
    calls::{call, exception},
    formats::{AnyFormat, BlockFormatRecord, overflow, resolve, rounding},
};

/// Random bits of an element under stochastic rounding, as `tcnum convert` has them.
const RANDOM_BITS: u32 = 32;

/// Adds the functions of this file.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(encode_narrow, module)?)?;
    module.add_function(wrap_pyfunction!(encode_random, module)?)?;
    module.add_function(wrap_pyfunction!(encode_any, module)?)?;
    module.add_function(wrap_pyfunction!(convert_exactly, module)?)?;
    module.add_function(wrap_pyfunction!(decode_narrow, module)?)?;
    module.add_function(wrap_pyfunction!(quantise, module)?)?;
    module.add_function(wrap_pyfunction!(dequantise_blocks, module)?)
}

/// Makes codes of a format from the bytes of an array.
pub(crate) fn codes(format: &'static Format, bytes: &PyReadonlyArray1<'_, u8>) -> PyResult<Codes> {
    let codes = Codes::from_bytes(format, bytes.as_slice()?.to_vec())
        .ok_or_else(|| PyValueError::new_err(format!("codes of {format} have {} bytes each", format.bytes())))?;
    if format.bits as usize != 8 * format.bytes()
        && let Some(at) = codes.iter().position(|code| code > format.code_mask())
    {
        let code = codes.get(at);
        let message = format!("code {code:#x} at position {at} has more than the {} bits of {format}", format.bits);
        return Err(PyValueError::new_err(message));
    }
    Ok(codes)
}

/// The error for values without a code.
fn missing(count: usize, of: usize, format: &Format) -> tcnum::Result<()> {
    match count {
        0 => Ok(()),
        _ => Err(Error::request(format!("{count} of {of} values have no code in {format}, which lacks NaN"))),
    }
}

/// Writes the codes of f32 values to an array of 8-bit or 16-bit unsigned integers.
#[pyfunction]
fn encode_narrow(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f32>,
    out: &Bound<'_, PyAny>,
    format: &str,
    rounding: &str,
    overflow: &str,
) -> PyResult<()> {
    let (format, rounding, overflow) =
        (resolve(py, format)?, crate::formats::rounding(rounding)?, self::overflow(overflow)?);
    if format.bytes() == 1 {
        encoded::<u8>(py, &values, out.extract()?, format, rounding, overflow)
    } else {
        encoded::<u16>(py, &values, out.extract()?, format, rounding, overflow)
    }
}

fn encoded<C: Code + numpy::Element>(
    py: Python<'_>,
    values: &PyReadonlyArray1<'_, f32>,
    mut out: PyReadwriteArray1<'_, C>,
    format: &'static Format,
    rounding: Rounding,
    overflow: Overflow,
) -> PyResult<()> {
    let (values, out) = (values.as_slice()?, out.as_slice_mut()?);
    if values.len() != out.len() {
        return Err(PyValueError::new_err(format!(
            "{} values do not fit an array of {} codes",
            values.len(),
            out.len()
        )));
    }
    call(py, || {
        let encoder = Encoder::<C>::new(format, rounding, overflow)?;
        missing(encoder.encode_parallel(values, out), values.len(), format)
    })
}

/// Writes codes, rounded stochastically by the low `bits` bits of one random number per value.
#[pyfunction]
fn encode_random(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f32>,
    random: PyReadonlyArray1<'_, u64>,
    bits: u32,
    out: &Bound<'_, PyAny>,
    format: &str,
    overflow: &str,
) -> PyResult<()> {
    let (format, overflow) = (resolve(py, format)?, self::overflow(overflow)?);
    if !(1..=64).contains(&bits) {
        return Err(PyValueError::new_err(format!("random_bits is {bits}; it must be 1 to 64")));
    }
    if format.bytes() == 1 {
        randomly::<u8>(py, &values, &random, bits, out.extract()?, format, overflow)
    } else {
        randomly::<u16>(py, &values, &random, bits, out.extract()?, format, overflow)
    }
}

fn randomly<C: Code + numpy::Element>(
    py: Python<'_>,
    values: &PyReadonlyArray1<'_, f32>,
    random: &PyReadonlyArray1<'_, u64>,
    bits: u32,
    mut out: PyReadwriteArray1<'_, C>,
    format: &'static Format,
    overflow: Overflow,
) -> PyResult<()> {
    let (values, random, out) = (values.as_slice()?, random.as_slice()?, out.as_slice_mut()?);
    if values.len() != out.len() || values.len() != random.len() {
        return Err(PyValueError::new_err("values, random and out must have the same length"));
    }
    call(py, || {
        let encoder = Encoder::<C>::new(format, Rounding::Sr { random: 0, bits }, overflow)?;
        missing(encoder.encode_randomly(values, random, out)?, values.len(), format)
    })
}

/// Converts codes of one format to the bytes of codes of another, each value rounded once.
#[pyfunction]
fn encode_any<'py>(
    py: Python<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
    from: &str,
    to: &str,
    rounding: &str,
    overflow: &str,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let (from, to) = (resolve(py, from)?, resolve(py, to)?);
    let (rounding, overflow) = (crate::formats::rounding(rounding)?, self::overflow(overflow)?);
    let source = Tensor::Scalar(from, codes(from, &bytes)?);
    let result = call(py, || tensor::encode(&source, to, rounding, overflow))?;
    Ok(PyArray1::from_slice(py, result.as_bytes()))
}

/// Converts codes with rounding to nearest and saturation, and counts the changed values.
#[pyfunction]
fn convert_exactly<'py>(
    py: Python<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
    from: &str,
    to: &str,
) -> PyResult<(Bound<'py, PyArray1<u8>>, u64)> {
    let (from, to) = (resolve(py, from)?, resolve(py, to)?);
    let source = Tensor::Scalar(from, codes(from, &bytes)?);
    let target = ConversionTarget::Scalar { format: to, rounding: Rounding::Rne, overflow: Overflow::Saturate };
    let (result, changes) = call(py, || tensor::convert(&source, 1, &target))?;
    let Tensor::Scalar(_, result) = result else { unreachable!("the target is no block format") };
    Ok((PyArray1::from_slice(py, result.as_bytes()), changes.losses.values - changes.losses.exact))
}

/// Writes the values of codes with at most 16 bits to an array of f32, exact or to nearest.
#[pyfunction]
fn decode_narrow(
    py: Python<'_>,
    codes: &Bound<'_, PyAny>,
    out: PyReadwriteArray1<'_, f32>,
    format: &str,
) -> PyResult<()> {
    let format = resolve(py, format)?;
    if format.bytes() == 1 {
        decoded::<u8>(py, &codes.extract()?, out, format)
    } else {
        decoded::<u16>(py, &codes.extract()?, out, format)
    }
}

fn decoded<C: Code + numpy::Element + BitOr<Output = C>>(
    py: Python<'_>,
    codes: &PyReadonlyArray1<'_, C>,
    mut out: PyReadwriteArray1<'_, f32>,
    format: &'static Format,
) -> PyResult<()> {
    let (codes, out) = (codes.as_slice()?, out.as_slice_mut()?);
    if codes.len() != out.len() {
        return Err(PyValueError::new_err(format!(
            "{} codes do not fit an array of {} values",
            codes.len(),
            out.len()
        )));
    }
    let wide = |code: C| Into::<u64>::into(code) > format.code_mask();
    let unused = format.bits as usize != 8 * format.bytes();
    call(py, || {
        // The union of all bits; the search for a wide code comes only after it.
        if unused && wide(codes.iter().fold(C::default(), |all, code| all | *code)) {
            let at = codes.iter().position(|code| wide(*code)).unwrap_or_default();
            let code: u64 = codes[at].into();
            return Err(Error::request(format!(
                "code {code:#x} at position {at} has more than the {} bits of {format}",
                format.bits
            )));
        }
        Decoder::<C>::new(format)?.decode_parallel(codes, out);
        Ok(())
    })
}

/// Bytes of the codes, of the scales of blocks, the tensor's scale, and the signal-to-noise ratio in dB.
type PythonQuantised<'py> = (Bound<'py, PyArray1<u8>>, Option<Bound<'py, PyArray1<u8>>>, Option<f32>, Option<f64>);

/// Quantises the bytes of codes of any format, in rows of `row`, to a format or to blocks; what is too large saturates.
#[pyfunction]
#[pyo3(signature = (bytes, from, row, to, rule, round, seed, tensor_scale))]
#[expect(clippy::too_many_arguments, reason = "the package calls it by position, and people call the package")]
fn quantise<'py>(
    py: Python<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
    from: &str,
    row: usize,
    to: AnyFormat,
    rule: Option<&str>,
    round: &str,
    seed: u64,
    tensor_scale: Option<f32>,
) -> PyResult<PythonQuantised<'py>> {
    let from = resolve(py, from)?;
    let source = Tensor::Scalar(from, codes(from, &bytes)?);
    whole_rows(source.len(), row)?;
    let rounding = match round.eq_ignore_ascii_case("SR") {
        true => Rounding::Sr { random: 0, bits: RANDOM_BITS },
        false => self::rounding(round)?,
    };
    let target = target(to.0, rule, rounding, tensor_scale).map_err(|error| exception(py, &error, None))?;
    let (result, deviations) = call(py, || tensor::convert_with_seed(&source, row, &target, seed))?;
    let sqnr = deviations.losses.energies.sqnr();
    Ok(match result {
        Tensor::Scalar(_, codes) => (PyArray1::from_slice(py, codes.as_bytes()), None, None, sqnr),
        Tensor::Blocks(blocks) => {
            let tensor_scale = blocks.tensor_scale.map(|code| f32::from_bits(code as u32));
            let width = blocks.format.scale.bytes();
            let scales = blocks.scales.iter().flat_map(|code| code.to_le_bytes().into_iter().take(width));
            let scales = PyArray1::from_vec(py, scales.collect());
            (PyArray1::from_vec(py, blocks.elements), Some(scales), tensor_scale, sqnr)
        }
    })
}

fn target(
    to: FileContent,
    rule: Option<&str>,
    rounding: Rounding,
    tensor_scale: Option<f32>,
) -> tcnum::Result<ConversionTarget> {
    let format = match to {
        FileContent::Blocks(format) => format,
        FileContent::Scalar(Some(format)) => {
            return Ok(ConversionTarget::Scalar { format, rounding, overflow: Overflow::Saturate });
        }
        FileContent::Scalar(None) => unreachable!("a format of Python is a format"),
    };
    match tensor_scale {
        Some(_) if format.tensor_scale.is_none() => {
            return Err(Error::request(format!("{format} has no scale of the tensor; omit tensor_scale")));
        }
        Some(scale) if !(scale.is_finite() && scale > 0.0) => {
            return Err(Error::request(format!("tensor_scale is {scale}; it must be a positive number of f32")));
        }
        _ => {}
    }
    let standard = Quantizer::new(format);
    let rule = rule.map(block::find_rule).transpose()?.unwrap_or(standard.rule);
    if let Some(why) = rule.refusal(format) {
        return Err(Error::request(why));
    }
    Ok(ConversionTarget::Blocks(Quantizer { rule, rounding, tensor_scale, ..standard }))
}

fn whole_rows(count: usize, row: usize) -> PyResult<()> {
    match count == 0 || row > 0 && count.is_multiple_of(row) {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("{count} values are not whole rows of {row}"))),
    }
}

/// Computes the values of blocks, each rounded once to f32; elements and scales are bytes of codes.
#[pyfunction]
#[pyo3(signature = (elements, scales, row, format, tensor_scale))]
fn dequantise_blocks<'py>(
    py: Python<'py>,
    elements: PyReadonlyArray1<'py, u8>,
    scales: PyReadonlyArray1<'py, u8>,
    row: usize,
    format: PyRef<'py, BlockFormatRecord>,
    tensor_scale: Option<f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let format = format.0;
    if format.offset.is_some() {
        return Err(PyValueError::new_err(format!("{format} has offsets, which arrays lack; convert files")));
    }
    let elements = codes(format.element.format, &elements)?.into_bytes();
    let scales: Vec<u32> = codes(format.scale, &scales)?.iter().map(|code| code as u32).collect();
    whole_rows(elements.len(), row)?;
    let wanted = format.blocks(elements.len(), row);
    if scales.len() != wanted {
        return Err(PyValueError::new_err(format!("{} scales do not match {wanted} blocks", scales.len())));
    }
    let f32 = find("f32").map_err(|error| PyValueError::new_err(error.to_string()))?;
    let one = || f32.encode_f64(1.0, Rounding::Rne, Overflow::Standard);
    let tensor_scale = match (format.tensor_scale, tensor_scale) {
        (None, _) => None,
        (Some(_), given) => given.map(|scale| u64::from(scale.to_bits())).or_else(one),
    };
    let blocks = Blocks { format, row, tensor_scale, scales, offsets: Vec::new(), elements };
    Ok(PyArray1::from_vec(py, call(py, || Ok(blocks.dequantize()))?))
}
