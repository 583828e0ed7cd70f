//! Codes of a value in several formats, under two roundings.

use tcnum::format::{self, Overflow, Rounding};

fn main() -> tcnum::Result<()> {
    let value: tcnum::number::Real = "0.1".parse()?;
    for name in ["f16", "bf16", "e4m3", "e5m2", "e2m1"] {
        let format = format::find(name)?;
        for rounding in [Rounding::Rne, Rounding::Rz] {
            let code = format.encode(&value, rounding, Overflow::Standard).expect("a number has a code");
            println!("{name:>5} {}: {} = {}", rounding.name(), format.hex(code), format.decode(code).decimal());
        }
    }
    Ok(())
}
