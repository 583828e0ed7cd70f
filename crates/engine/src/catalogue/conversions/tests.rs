//! Tests: no word of the table differs from what the soft-float executes.

use std::collections::{HashMap, HashSet};

use super::{rule::code, *};
use crate::isa::scalar::{self, Form, ScalarOperation};

#[test]
fn every_word_of_the_table_is_what_the_soft_float_does() {
    let mut found: HashMap<String, [String; 8]> = HashMap::new();
    let mut differences = Vec::new();
    for row in conversions() {
        for rule in row.rules().into_iter().flatten() {
            // The lanes of a packed instruction are alike.
            let mut same = rule.clone();
            same.form = bare(&rule.form);
            let key = format!("{same:?}");
            let words = found.entry(key).or_insert_with(|| words(&rule));
            for ((column, stated), word) in COLUMNS.iter().zip(row.stated()).zip(words.iter()) {
                if stated != *word {
                    differences.push(format!("{}: {column} is {word}, not {stated}", row.instruction));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn bare(form: &Form) -> Form {
    let mut form = form.clone();
    (form.lanes, form.packed, form.support) = (1, false, &[]);
    form.ptx.clear();
    form.opcode.clear();
    form.evidence.clear();
    form.note.clear();
    form
}

#[test]
fn every_conversion_of_the_scalar_tables_has_one_row_with_its_formats_and_evidence() {
    let described: Vec<(&Conversion, Vec<&Form>)> = conversions().iter().map(|row| (row, row.forms())).collect();
    for form in scalar::all().iter().filter(|form| form.operation == ScalarOperation::Convert) {
        let of_form = described.iter().filter(|(_, forms)| forms.contains(&form));
        let rows: Vec<&Conversion> = of_form.map(|(row, _)| *row).collect();
        assert_eq!(rows.len(), 1, "{form}");
        assert_eq!(
            (rows[0].source.as_str(), rows[0].destination.as_str()),
            (form.source.name, form.result.name),
            "{form}"
        );
        assert_eq!(rows[0].evidence == "measurement", !form.evidence.is_empty(), "{form}");
    }
}

#[test]
fn both_answers_of_a_disagreement_are_what_their_rules_give() {
    let mut executed = 0;
    for row in DISAGREEMENTS.iter() {
        for (rule, stated) in [(&row.first_rule, &row.first_result), (&row.second_rule, &row.second_result)] {
            if rule.is_empty() {
                continue;
            }
            let [source, result] = [&row.source, &row.destination].map(|name| crate::format::find(name).unwrap());
            let rule = ConversionRule::read(Form::conversion(source, result), rule).unwrap();
            let operand = code(&row.operand).unwrap();
            assert_eq!(result.hex(rule.run().unwrap().result(operand)), *stated, "{}", row.subject);
            executed += 1;
        }
    }
    assert!(executed > 20);
}

#[test]
fn rows_have_known_evidence_and_a_reference() {
    let mut seen = HashSet::new();
    for row in conversions() {
        let known = ["measurement", "specification", "literature", "assumed"];
        assert!(known.contains(&row.evidence.as_str()) && !row.reference.is_empty(), "{}", row.instruction);
        let key = (&row.isa, &row.instruction, &row.source, &row.destination);
        assert!(seen.insert(key), "{} is there twice", row.instruction);
    }
}

/// The rule of a `cvt.rs`, and the results of its lanes, the lowest first.
fn random_lanes(ptx: &str, operand: u32, rbits: u32) -> Vec<u64> {
    let form = scalar::find(ptx).unwrap();
    let row = conversions().iter().find(|row| row.forms().contains(&form)).unwrap();
    let rule = row.rules().unwrap().into_iter().find(|rule| rule.form.ptx == ptx).unwrap();
    let lane = |random: u64| rule.with_random(random).run().unwrap().result(operand.into());
    lane_random(form, rbits).unwrap().into_iter().map(lane).collect()
}

#[test]
fn random_conversions_are_functions_of_operand_and_random_bits() {
    for number in 0..300 {
        let word = crate::inputs::random(5, number);
        let (rbits, significand, sign) = (word as u32, (word >> 40) as u32 & 0x7f_ffff, (word >> 63) as u32);
        // Truncated sums of integers, for results that are normal and in range.
        let operand = |exponent: u32| sign << 31 | exponent << 23 | significand;
        let bf16 = |random: u32| u64::from((operand(100) + random) >> 16);
        assert_eq!(random_lanes("cvt.rs.bf16x2.f32", operand(100), rbits), [rbits & 0xffff, rbits >> 16].map(bf16));
        let f16 = |half: u32| {
            let sum = (operand(120) & 0x7fff_ffff) + (half & 0x1fff);
            u64::from(sign << 15 | ((sum >> 13) - (112 << 10)))
        };
        assert_eq!(random_lanes("cvt.rs.f16x2.f32", operand(120), rbits), [rbits & 0xffff, rbits >> 16].map(f16));
        let e4m3 = |random: u16| {
            let sum = (operand(127) & 0x7fff_ffff) + (u32::from(random) << 4);
            u64::from(sign << 7 | ((sum >> 20) - (120 << 3)))
        };
        let [low, high] = [rbits as u16, (rbits >> 16) as u16];
        let fields = [low, low.reverse_bits(), high, high.reverse_bits()];
        assert_eq!(random_lanes("cvt.rs.satfinite.e4m3x4.f32", operand(127), rbits), fields.map(e4m3));
    }
}

#[test]
fn this_processor_gives_what_the_rows_of_its_conversions_state() {
    use crate::device::{self, Chunks, DeviceName, cpu};
    let forms = conversions().iter().filter(|row| row.isa == "x86").flat_map(Conversion::forms);
    let (executed, others): (Vec<&Form>, Vec<&Form>) = forms.partition(|form| cpu::sweeps(form));
    others.iter().for_each(|form| eprintln!("skipped: this processor does not have {form}"));
    let mut processor = device::open(Some(&DeviceName::Cpu), std::time::Duration::from_secs(1)).unwrap();
    for form in executed {
        let sweeps = processor.sweeps().unwrap();
        let mut sweeper = sweeps.sweeper(form, 3).unwrap();
        let swept = sweeper.sweep(Chunks::spread(1 << form.source.bits.min(32), 64)).unwrap();
        assert!(swept.compared.iter().sum::<u64>() > 0 && swept.differing() == 0, "{form}: {swept:?}");
    }
}
