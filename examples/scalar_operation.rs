//! One addition in e4m3 under every rounding direction, with its exception flags.

use tcnum::{
    format::{self, Rounding},
    softfloat::{Environment, Unit},
};

fn main() -> tcnum::Result<()> {
    let e4m3 = format::find("e4m3")?;
    for rounding in Rounding::DETERMINISTIC {
        let unit = Unit::new(e4m3, Environment { rounding, ..Environment::default() })?;
        // 1 + 0.0625 lies half-way between 1 and 1.125.
        let sum = unit.add(0x38, 0x18);
        let code = sum.code.expect("e4m3 has a code for every number");
        println!("{:>3}: {} ({:?})", rounding.name(), e4m3.decode(code).decimal(), sum.flags);
    }
    Ok(())
}
