//! Classes of instructions: a family with the formats of its operands.

use crate::{
    Error, Result,
    device::Device,
    format::{self, Format},
    isa::{self, Instruction, pattern},
};

/// Patterns of the default instructions of a comparison of devices, in the order of its tables.
const USUAL: &[&str] = &[
    "mma.m*.f32.f16.f16.f32",
    "mma.m*.f32.bf16.bf16.f32",
    "mma.m*.f32.tf32.tf32.f32",
    "mma.m*.f32.e4m3.e4m3.f32",
    "wgmma.m*.f32.e4m3.e4m3",
    "tcgen05.m*.f32.e4m3.e4m3.f32",
    "mma.m*.f32.e2m1.e2m1.f32.ue4m3.block16",
    "tcgen05.m*.f32.e2m1.e2m1.f32.ue4m3.block16",
    "mfma.*.f32.f16.f16.f32",
    "mfma.*.f32.bf16.bf16.f32",
    "mfma.*.f32.tf32.tf32.f32",
    "mfma.*.f32.{e4m3fnuz.e4m3fnuz,e4m3.e4m3}.f32",
    "mfma.*.f32.e2m1.e2m1.f32",
    "{bfmmla,fmmla,tdpbf16ps,tdpfp16ps}.*.f32.{bf16.bf16,f16.f16,e4m3.e4m3}.f32",
];

/// The choice of instructions for several devices.
#[derive(Debug, Clone, Default)]
pub struct ClassChoice {
    /// Instructions by name, all that a device has.
    pub named: Vec<Instruction>,
    /// Instructions of classes: of each class a device takes those with the largest k.
    pub classes: Vec<Instruction>,
}

impl ClassChoice {
    /// The choice of `--instr`, `--fmt` and `--all`.
    ///
    /// Without any of them: operands of 16, 19, 8 and 4 bits with f32 results.
    ///
    /// # Errors
    /// Unknown names; formats that no instruction multiplies.
    pub fn new(names: &[String], formats: &[String], all: bool) -> Result<ClassChoice> {
        let mut choice = ClassChoice::default();
        if all {
            choice.named = isa::all().to_vec();
        } else if names.is_empty() && formats.is_empty() {
            let matching = |pattern: &&'static str| {
                isa::all().iter().filter(|i| pattern::matches(pattern, &i.name)).cloned().collect::<Vec<_>>()
            };
            choice.classes = USUAL.iter().flat_map(matching).collect();
        }
        for name in names {
            choice.named.push(isa::resolve(name)?);
        }
        for name in formats {
            choice.classes.extend(of_format(format::find(name)?)?);
        }
        Ok(choice)
    }

    /// The names of the chosen classes, in the order of tables.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.named.iter().chain(&self.classes).map(class) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The chosen instructions that a device has.
    ///
    /// # Errors
    /// The device fails when it is asked.
    pub(super) fn on(&self, device: &mut dyn Device) -> Result<Vec<Instruction>> {
        let mut chosen: Vec<Instruction> = Vec::new();
        let mut largest: Vec<Instruction> = Vec::new();
        for (i, kept) in self.named.iter().map(|i| (i, true)).chain(self.classes.iter().map(|i| (i, false))) {
            if has(device, i)? {
                if kept { &mut chosen } else { &mut largest }.push(i.clone());
            }
        }
        let most = |i: &Instruction| largest.iter().filter(|other| class(other) == class(i)).map(|i| i.k).max();
        let by_class = largest.iter().filter(|i| most(i) == Some(i.k)).cloned().collect::<Vec<_>>();
        for i in by_class {
            if !chosen.contains(&i) {
                chosen.push(i);
            }
        }
        Ok(chosen)
    }
}

/// The dense instructions that multiply codes of a format, without qualifiers other than a scale.
///
/// The same machine instructions execute `wmma`, which is chosen by name.
///
/// # Errors
/// A request error: there is none.
fn of_format(format: &'static Format) -> Result<Vec<Instruction>> {
    let plain = |i: &&Instruction| match i.scale {
        None => i.qualifiers().count() == 0,
        Some(_) => i.qualifiers().count() == 2,
    };
    let multiplies =
        |i: &&Instruction| i.a == format && i.b == format && i.c == i.d && !i.is_sparse() && i.family() != "wmma";
    let chosen: Vec<Instruction> = isa::all().iter().filter(multiplies).filter(plain).cloned().collect();
    match chosen.is_empty() {
        true => Err(Error::request(format!(
            "no dense instruction multiplies {format} operands; `tcnum instructions` lists all formats"
        ))),
        false => Ok(chosen),
    }
}

/// True if a device has an instruction.
///
/// # Errors
/// The device fails when it is asked.
fn has(device: &mut dyn Device, i: &Instruction) -> Result<bool> {
    if let Some(model) = device.model() {
        return Ok(model.rule(i).is_some());
    }
    match device.has(i) {
        Err(error) if error.is_unavailable() => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// The class of an instruction: `mma f16 -> f32`, `mma e2m1 (ue4m3 per 16) -> f32`.
pub fn class(i: &Instruction) -> String {
    let factors = if i.a == i.b { i.a.name.to_string() } else { format!("{}*{}", i.a, i.b) };
    let scale = i.scale.map_or(String::new(), |scale| format!(" ({} per {})", scale.format, scale.block));
    let c = if i.c == i.d { String::new() } else { format!(" + {}", i.c) };
    format!("{} {factors}{scale}{c} -> {}", i.family(), i.d)
}

/// The part of an instruction's name that its class lacks: `m16n8k16`, `m64n8k32.rs`.
pub(super) fn shape(i: &Instruction) -> String {
    let rest = i.name[i.family().len()..].trim_start_matches('.');
    let shape = rest.split('.').next().unwrap_or(rest);
    // A scale is `ue8m0.block32`: the format with a letter for its missing sign, and the length of a block.
    let unsigned = |format: &str| format.trim_start_matches('u').to_string();
    let of_scale = |qualifier: &&str| {
        i.scale
            .is_some_and(|scale| qualifier.starts_with("block") || unsigned(qualifier) == unsigned(scale.format.name))
    };
    std::iter::once(shape).chain(i.qualifiers().filter(|qualifier| !of_scale(qualifier))).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::ModelDevice;

    #[test]
    fn a_class_is_the_family_and_the_formats_and_the_shape_is_the_rest() {
        for (name, of, rest) in [
            ("mma.m16n8k16.f32.f16.f16.f32", "mma f16 -> f32", "m16n8k16"),
            ("mma.m8n8k4.f32.f16.f16.f32.row.row", "mma f16 -> f32", "m8n8k4.row.row"),
            ("wgmma.m64n8k32.f32.e4m3.e4m3.rs", "wgmma e4m3 -> f32", "m64n8k32.rs"),
            ("wmma.m16n16k16.f32.f16.f16.f16", "wmma f16 + f16 -> f32", "m16n16k16"),
            ("mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16", "mma e2m1 (ue4m3 per 16) -> f32", "m16n8k64"),
            ("mma.m16n8k32.f32.e4m3.e2m1.f32.ue8m0.block32", "mma e4m3*e2m1 (e8m0 per 32) -> f32", "m16n8k32"),
            ("mma.sp.m16n8k32.f32.f16.f16.f32.ordered", "mma.sp f16 -> f32", "m16n8k32.ordered"),
            ("mfma.32x32x8.f32.f16.f16.f32", "mfma f16 -> f32", "32x32x8"),
            ("mfma.4x4x4.f32.f16.f16.f32.16b", "mfma f16 -> f32", "4x4x4.16b"),
        ] {
            let i = isa::find(name).unwrap();
            assert_eq!((class(&i).as_str(), shape(&i).as_str()), (of, rest), "{name}");
        }
    }

    #[test]
    fn of_a_class_a_device_takes_the_largest_k_and_of_names_all() {
        let mut ampere = ModelDevice::open("ampere").unwrap();
        let mut names = |choice: &ClassChoice| -> Vec<String> {
            choice.on(&mut ampere).unwrap().into_iter().map(|i| i.name).collect()
        };
        let text = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let [short, long] = ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f32.bf16.bf16.f32"];
        let of_format = ClassChoice::new(&[], &text(&["bf16"]), false).unwrap();
        assert_eq!(names(&of_format), [long]);
        let both = ClassChoice::new(&text(&[short, long]), &text(&["bf16"]), false).unwrap();
        assert_eq!(names(&both), [short, long]);
        // Sparse forms, scales and other results are not in the usual choice.
        let usual = names(&ClassChoice::new(&[], &[], false).unwrap());
        assert!(usual.len() == 3 && usual.iter().all(|name| name.starts_with("mma.m16n8k")), "{usual:?}");
        assert!(ClassChoice::new(&[], &text(&["s4", "e8m0"]), false).unwrap_err().to_string().contains("e8m0"));
    }

    #[test]
    fn every_usual_pattern_is_of_an_instruction() {
        for pattern in USUAL {
            assert!(isa::all().iter().any(|i| pattern::matches(pattern, &i.name)), "{pattern}");
        }
    }
}
