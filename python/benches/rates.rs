//! Rates of the library alone, which `rates.py` compares with rates from Python.
//!
//! Each line of standard input names the work, the files of operands, and the seconds to measure. The answer is the
//! shortest time in seconds.

use std::{
    error::Error,
    fs,
    hint::black_box,
    io,
    time::{Duration, Instant},
};

use tcnum::{
    arithmetic::Model,
    format::{
        Overflow, Rounding,
        block::{self, Quantizer},
        find,
        slices::{Code, Decoder, Encoder},
    },
    isa::{self, Instruction},
};

type Answer = Result<f64, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    for line in io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        let least = match words[..] {
            ["encode", format, values, seconds] => match find(format)?.bytes() {
                1 => encode::<u8>(format, values, seconds),
                _ => encode::<u16>(format, values, seconds),
            },
            ["decode", format, codes, seconds] => match find(format)?.bytes() {
                1 => decode::<u8>(format, codes, seconds),
                _ => decode::<u16>(format, codes, seconds),
            },
            ["quantise", format, values, seconds] => quantise(format, values, seconds),
            ["dot", model, instruction, a, b, c, seconds] => {
                execute(model, Instruction { m: 1, n: 1, ..isa::find(instruction)? }, [a, b, c], seconds)
            }
            ["execute", model, instruction, a, b, c, seconds] => {
                execute(model, isa::find(instruction)?, [a, b, c], seconds)
            }
            _ => Err(format!("'{line}' is nothing that rates.py asks for").into()),
        };
        println!("{:e}", least?);
    }
    Ok(())
}

/// The shortest time of the work within the given seconds.
fn least(seconds: &str, mut work: impl FnMut()) -> Answer {
    let (begin, long) = (Instant::now(), Duration::try_from_secs_f64(seconds.parse()?)?);
    let mut least = Duration::MAX;
    while least == Duration::MAX || begin.elapsed() < long {
        let begin = Instant::now();
        work();
        least = least.min(begin.elapsed());
    }
    Ok(least.as_secs_f64())
}

fn floats(file: &str) -> io::Result<Vec<f32>> {
    Ok(fs::read(file)?.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

fn encode<C: Code + Default>(format: &str, file: &str, seconds: &str) -> Answer {
    let values = floats(file)?;
    let mut codes = vec![C::default(); values.len()];
    let encoder = Encoder::<C>::new(find(format)?, Rounding::Rne, Overflow::Standard)?;
    least(seconds, || {
        black_box(encoder.encode_parallel(black_box(&values), &mut codes));
    })
}

fn decode<C: Code + Default + TryFrom<u64>>(format: &str, file: &str, seconds: &str) -> Answer {
    let bytes = fs::read(file)?;
    let code = |bytes: &[u8]| bytes.iter().rev().fold(0, |code: u64, byte| code << 8 | u64::from(*byte));
    let codes: Vec<C> =
        bytes.chunks(size_of::<C>()).map(|bytes| C::try_from(code(bytes)).unwrap_or_default()).collect();
    let mut values = vec![0.0; codes.len()];
    let decoder = Decoder::<C>::new(find(format)?)?;
    least(seconds, || decoder.decode_parallel(black_box(&codes), &mut values))
}

fn quantise(format: &str, file: &str, seconds: &str) -> Answer {
    let values = floats(file)?;
    let quantizer = Quantizer::new(block::find(format).ok_or("no such block format")?);
    least(seconds, || {
        black_box(quantizer.quantize(black_box(&values), values.len()));
    })
}

fn execute(model: &str, tile: Instruction, files: [&str; 3], seconds: &str) -> Answer {
    let evaluator = Model::load(model)?.evaluator(&tile)?;
    let [a, b, c] = files.map(fs::read);
    let (a, b, c) = (a?, b?, c?);
    let mut d = vec![0; c.len() / tile.c.bytes() * tile.d.bytes()];
    least(seconds, || evaluator.execute_into(black_box(&[("a", &a[..]), ("b", &b), ("c", &c)]), &mut d))
}
