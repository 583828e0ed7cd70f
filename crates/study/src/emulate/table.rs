//! Tables and notes of products by schemes.

use super::{
    DoubleErrors, DoubleOutcome, EmulateRequest, Emulation, EmulationResult, Integers, ProductErrors, USUAL, first_wrap,
};
use crate::{
    base::{
        distinct::distinct,
        sentence::{self, span},
    },
    device::Device,
    product::{ProductOperands, ProductShape},
    report::{Report, Table, Verdict, grouped, three_digits},
    scheme::Emulated,
};

crate::rows! {
    /// A product by a scheme on a device.
    pub struct EmulatedProductRow in "emulated_products" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// The scheme in words.
        title: String => hidden(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Rows of A and D.
        m: usize => shown("m").if_varied().essential(),
        /// Columns of B and D.
        n: usize => shown("n").if_varied(),
        /// Terms of each sum.
        k: usize => shown("k").if_varied().essential(),
        /// Number of products of parts.
        products: usize => shown("products").essential(),
        /// The instructions.
        instructions: Vec<String> => shown("instructions"),
        /// The kinds of execution.
        execution: Vec<String> => hidden(),
        /// Computed rows, spread over the product.
        rows: usize => shown("rows"),
    }

    /// A product in f32 against plain f32 (ascending k, each product and each sum rounded).
    pub struct EmulationRow in "emulations" {
        /// The product.
        product: EmulatedProductRow => hidden(),
        /// Compared elements.
        elements: usize => hidden(),
        /// Seconds of the sums, where the device computes all elements at once.
        sum_seconds: Option<f64> => shown("sums").unit("s").if_filled().essential(),
        /// Infinite or NaN elements, which the errors leave out.
        infinite: Option<usize> => shown("infinite").if_filled().essential(),
        /// The largest |V - V_f32|.
        max_absolute: f64 => shown("max |V-V_f32|").essential(),
        /// The largest |V - V_f32| of the scheme half over this one.
        half_ratio: Option<f64> => shown("gain over half").if_filled().essential().beside(),
        /// The largest |V - V_f32| / (|V| + |V_f32|).
        max_error: f64 => shown("Max_error").essential(),
        /// Max_error of the scheme half over this one.
        half_max_error_ratio: Option<f64> => hidden(),
        /// The mean |V_f32 - V| / |V_f32|.
        mred: f64 => shown("MRED").essential(),
        /// MRED of the scheme half over this one.
        half_mred_ratio: Option<f64> => hidden(),
        /// The largest |V - S|, with the exact S.
        exact_max_absolute: f64 => shown("max |V-exact|").essential(),
        /// The mean |S - V| / |S|, with the exact S.
        exact_mred: f64 => shown("MRED to exact").essential(),
        /// Elements equal to the exact sum, rounded to f32.
        exact_equal: usize => shown("=exact"),
        /// The largest |V_f32 - S| of the plain product in f32, with the exact S.
        f32_exact_max_absolute: f64 => hidden(),
        /// The mean |S - V_f32| / |S|, with the exact S.
        f32_exact_mred: f64 => hidden(),
    }

    /// A product in f32 against one yardstick: plain sums in f32 or f64, or the exact sum.
    pub struct EmulationErrorRow in "emulation_errors" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Rows of A and D.
        m: usize => shown("m").if_varied().essential(),
        /// Columns of B and D.
        n: usize => hidden(),
        /// Terms of each sum.
        k: usize => hidden(),
        /// The yardstick.
        yardstick: &'static str => shown("against").essential(),
        /// Elements equal to the yardstick, rounded to f32.
        equal: usize => shown("equal").essential(),
        /// The largest distance in numbers of f32.
        ulps: u64 => shown("max ulps").essential(),
        /// The mean distance in numbers of f32.
        mean_ulps: f64 => shown("mean ulps").essential(),
        /// The largest |V - S|.
        max_absolute: f64 => shown("max |V-S|").essential(),
        /// The mean |V - S|.
        mean_absolute: f64 => shown("mean |V-S|"),
        /// The root of the mean (V - S)^2.
        rms: f64 => shown("rms"),
        /// The largest |V - S| / (|V| + |S|).
        max_error: f64 => shown("Max_error").essential(),
        /// The mean |S - V| / |S|.
        mred: f64 => shown("MRED").essential(),
        /// Binades that hold a |V - S|, by exponents of two, ascending; the lowest, -48, also holds zero.
        error_exponents: Vec<i64> => hidden(),
        /// Number of |V - S| in each of these binades.
        error_counts: Vec<u64> => hidden(),
    }

    /// A product in f64 and plain f64 (fused multiply-adds, ascending k) against the exact one.
    pub struct DoubleEmulationRow in "double_emulations" {
        /// The product.
        product: EmulatedProductRow => hidden(),
        /// Compared elements.
        elements: usize => hidden(),
        /// Seconds of the sums, where the device computes all elements at once.
        sum_seconds: Option<f64> => shown("sums").unit("s").if_filled().essential(),
        /// Infinite or NaN elements whose exact sum is neither, and the reverse; the errors leave them out.
        special: Option<usize> => shown("wrong inf/NaN").if_filled().essential(),
        /// Infinite or NaN elements, right or wrong; the errors leave them out.
        infinite: Option<usize> => shown("inf/NaN").if_filled().essential(),
        /// Elements equal to the exact sum, rounded to f64.
        equal: usize => shown("=exact").essential(),
        /// The largest |V - S| / sum |ab|, with the exact S; all errors are NaN if no element is finite.
        magnitude_error: f64 => shown("max |V-S|/sum|ab|").essential(),
        /// The mean |V - S| / sum |ab|.
        mean_magnitude_error: f64 => shown("mean |V-S|/sum|ab|"),
        /// The largest |V - S| / |S|.
        max_relative: f64 => shown("max |V-S|/|S|").essential(),
        /// The mean |V - S| / |S|.
        mred: f64 => shown("MRED").essential(),
        /// The largest |V - S|.
        max_absolute: f64 => shown("max |V-S|"),
        /// Infinite or NaN elements of plain f64, right or wrong.
        f64_infinite: Option<usize> => shown("f64 inf/NaN").if_filled().essential(),
        /// Elements of plain f64 equal to the exact sum, rounded to f64.
        f64_equal: usize => shown("f64 =exact").essential(),
        /// The largest |V_f64 - S| / sum |ab| of plain f64.
        f64_magnitude_error: f64 => shown("f64 max/sum|ab|").essential(),
        /// The largest |V_f64 - S| / |S|.
        f64_max_relative: f64 => shown("f64 max/|S|"),
        /// The mean |V_f64 - S| / |S|.
        f64_mred: f64 => shown("f64 MRED").essential(),
        /// Elements equal to the exact sum, if each product is rounded before it is added.
        separate_equal: usize => hidden(),
        /// The largest error over sum |ab|, if each product is rounded before it is added.
        separate_magnitude_error: f64 => hidden(),
        /// The mean |V_f64 - S| / |S|, if each product is rounded before it is added.
        separate_mred: f64 => hidden(),
        /// The most binary exponents between two elements of a row of A.
        a_spread: u32 => shown("A spread"),
        /// The most binary exponents between two elements of a column of B.
        b_spread: u32 => shown("B spread"),
    }

    /// A product of integers in s32, made of products of their digits, against the exact one.
    pub struct IntegerEmulationRow in "integer_emulations" {
        /// The product.
        product: EmulatedProductRow => hidden(),
        /// Elements whose exact sum s32 holds.
        held: usize => shown("s32 holds").essential(),
        /// Elements among them that equal it.
        exact: usize => shown("exact").essential().beside(),
        /// Elements whose exact sum s32 does not hold.
        beyond: usize => shown("beyond s32").essential(),
        /// Elements among them that equal it modulo 2^32.
        wrapped: usize => shown("wrapped").essential().beside(),
        /// The smallest k at which the most extreme operands wrap.
        first_wrap: u64 => shown("extremes wrap from k").essential(),
        /// The exact sum of these operands.
        first_wrap_sum: i64 => hidden(),
    }
}

/// The columns that a product has whatever its result.
fn product(request: &EmulateRequest, devices: &[Box<dyn Device>], emulation: &Emulation) -> Option<EmulatedProductRow> {
    let (scheme, unit) =
        (&request.schemes[emulation.scheme], request.units[emulation.scheme][emulation.device].as_ref()?);
    Some(EmulatedProductRow {
        scheme: scheme.name.clone(),
        title: scheme.title.clone(),
        device: devices[emulation.device].identity().name.to_string(),
        m: emulation.shape.m,
        n: emulation.shape.n,
        k: emulation.shape.k,
        products: emulation.products,
        instructions: unit.names(),
        execution: unit.executions.iter().map(|kind| kind.name().to_string()).collect(),
        rows: emulation.rows,
    })
}

fn emulations(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<EmulationRow> {
    let half = |emulation: &Emulation| {
        let same = |other: &&Emulation| {
            request.schemes[other.scheme].name == "half"
                && (other.device, other.shape) == (emulation.device, emulation.shape)
        };
        measured(done.iter().find(same)?).map(|(_, errors, _)| errors[0])
    };
    let row = |emulation: &Emulation| {
        let (infinite, errors, plain) = measured(emulation)?;
        let [single, _, exact] = errors else { return None };
        let half = half(emulation).filter(|_| request.schemes[emulation.scheme].name != "half");
        let ratio = |of: fn(&ProductErrors) -> f64| {
            let half = of(half.as_ref()?);
            (half > 0.0 && of(single) > 0.0).then(|| half / of(single))
        };
        Some(EmulationRow {
            product: product(request, devices, emulation)?,
            sum_seconds: emulation.seconds,
            elements: emulation.rows * emulation.shape.n,
            infinite: (infinite > 0).then_some(infinite),
            max_absolute: single.absolute,
            half_ratio: ratio(|errors| errors.absolute),
            max_error: single.max_error,
            half_max_error_ratio: ratio(|errors| errors.max_error),
            mred: single.mred,
            half_mred_ratio: ratio(|errors| errors.mred),
            exact_max_absolute: exact.absolute,
            exact_mred: exact.mred,
            exact_equal: exact.equal,
            f32_exact_max_absolute: plain.absolute,
            f32_exact_mred: plain.mred,
        })
    };
    done.iter().filter_map(row).collect()
}

fn doubles(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<DoubleEmulationRow> {
    let row = |emulation: &Emulation| {
        let DoubleOutcome { scheme, fused, separate, spread: [a_spread, b_spread] } = *outcome(emulation)?;
        Some(DoubleEmulationRow {
            product: product(request, devices, emulation)?,
            elements: emulation.rows
                * emulation.shape.n
                * request.operands.as_ref().map_or(1, |operands| operands.batch),
            sum_seconds: emulation.seconds,
            special: (scheme.special > 0).then_some(scheme.special),
            infinite: (scheme.infinite > 0).then_some(scheme.infinite),
            equal: scheme.equal,
            magnitude_error: scheme.of_magnitude,
            mean_magnitude_error: scheme.mean_of_magnitude,
            max_relative: scheme.relative,
            mred: scheme.mred,
            max_absolute: scheme.absolute,
            f64_infinite: (fused.infinite > 0).then_some(fused.infinite),
            f64_equal: fused.equal,
            f64_magnitude_error: fused.of_magnitude,
            f64_max_relative: fused.relative,
            f64_mred: fused.mred,
            separate_equal: separate.equal,
            separate_magnitude_error: separate.of_magnitude,
            separate_mred: separate.mred,
            a_spread,
            b_spread,
        })
    };
    done.iter().filter_map(row).collect()
}

/// The result of a product in f64.
fn outcome(emulation: &Emulation) -> Option<&DoubleOutcome> {
    match &emulation.outcome {
        EmulationResult::Doubles(outcome) => Some(outcome),
        EmulationResult::Numbers { .. } | EmulationResult::Integers(_) => None,
    }
}

/// The errors of a product in f32.
fn measured(emulation: &Emulation) -> Option<(usize, &[ProductErrors], &ProductErrors)> {
    match &emulation.outcome {
        EmulationResult::Numbers { infinite, errors, plain } => Some((*infinite, errors, plain.as_ref())),
        EmulationResult::Integers(_) | EmulationResult::Doubles(_) => None,
    }
}

/// A row for each product in f32 and yardstick.
fn errors(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<EmulationErrorRow> {
    let mut rows = Vec::new();
    for emulation in done {
        let Some((_, errors, _)) = measured(emulation) else { continue };
        for error in errors {
            rows.push(EmulationErrorRow {
                scheme: request.schemes[emulation.scheme].name.clone(),
                device: devices[emulation.device].identity().name.to_string(),
                m: emulation.shape.m,
                n: emulation.shape.n,
                k: emulation.shape.k,
                yardstick: error.yardstick.name(),
                equal: error.equal,
                ulps: error.ulps,
                mean_ulps: error.mean_ulps,
                max_absolute: error.absolute,
                mean_absolute: error.mean,
                rms: error.rms,
                max_error: error.max_error,
                mred: error.mred,
                error_exponents: error.binades().map(|(exponent, _)| exponent.into()).collect(),
                error_counts: error.binades().map(|(_, count)| count).collect(),
            });
        }
    }
    rows
}

fn integers(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<IntegerEmulationRow> {
    let row = |emulation: &Emulation| {
        let EmulationResult::Integers(counts) = &emulation.outcome else { return None };
        let (first_wrap, first_wrap_sum) = first_wrap(&request.schemes[emulation.scheme])?;
        Some(IntegerEmulationRow {
            product: product(request, devices, emulation)?,
            held: counts.held,
            exact: counts.exact,
            beyond: counts.beyond,
            wrapped: counts.wrapped,
            first_wrap,
            first_wrap_sum,
        })
    };
    done.iter().filter_map(row).collect()
}

/// Fills a report with products; `all` is false if time ended before all were begun.
pub fn report(
    request: &EmulateRequest,
    devices: &[Box<dyn Device>],
    done: &[Emulation],
    all: bool,
    report: &mut Report,
) {
    report.answer = answer(request, devices, done);
    if !all {
        let count = done.len();
        report
            .notes
            .push(format!("{count} products were computed in a minute; a size or a shape computes all of that one."));
    }
    report.notes.extend(notes(request, done));
    report.holds = holds(done);
    report.verdict = Verdict::Inexact;
    if let [device] = devices {
        report.device = Some(device.identity().clone());
    }
    report.tables = tables(request, devices, done);
}

/// True if every product of integers is exact where s32 holds it, and exact modulo 2^32 elsewhere.
fn holds(done: &[Emulation]) -> bool {
    done.iter().all(|emulation| match &emulation.outcome {
        EmulationResult::Integers(counts) => counts.hold(),
        EmulationResult::Numbers { .. } | EmulationResult::Doubles(_) => true,
    })
}

/// The tables that have rows.
fn tables(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<Table> {
    let of = match request.shapes[..] {
        [ProductShape { m, n, k }] => format!(" of {m} x {n} x {k}"),
        _ => String::new(),
    };
    let title = format!("Products{of} in f32 by schemes, against plain f32");
    let numbers = Table::of(title, emulations(request, devices, done));
    let errors = Table::of("Errors by yardstick", errors(request, devices, done));
    let title = format!("Products{of} of integers by digits, in s32");
    let integers = Table::of(title, integers(request, devices, done));
    let doubles =
        Table::of(format!("Products{of} in f64 by schemes, against the exact one"), doubles(request, devices, done));
    [numbers, errors, doubles, integers].into_iter().filter_map(Table::filled).collect()
}

/// The errors of the products, in sentences; `None` without a product.
fn answer(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Option<String> {
    let on = sentence::devices(&devices.iter().map(|device| &device.identity().name).collect::<Vec<_>>());
    let error = |emulation: &Emulation| Some(measured(emulation)?.1.last()?.mred).filter(|error| !error.is_nan());
    let named = |emulation: &Emulation, error: f64| {
        let device = match devices {
            [_] => String::new(),
            several => format!(" on {}", several[emulation.device].identity().name),
        };
        let ProductShape { m, n, k } = emulation.shape;
        let shape = if request.shapes.len() > 1 { format!(", {m} x {n} x {k}") } else { String::new() };
        format!("{} ({}{device}{shape})", three_digits(error), request.schemes[emulation.scheme].name)
    };
    let numbers = done.iter().filter_map(measured);
    let least = numbers.min_by(|x, y| f64::total_cmp(&x.1[x.1.len() - 1].mred, &y.1[y.1.len() - 1].mred));
    let in_words = |format: &str, error: f64| match error.is_nan() {
        true => format!("plain {format} has no finite element to compare"),
        false => format!("plain {format} has {}", three_digits(error)),
    };
    let mut sentences = Vec::new();
    if let (Some(errors), Some((.., plain))) = (errors_in_words(done, error, named), least) {
        let plain = in_words("f32", plain.mred);
        sentences.push(format!("On {on} the mean relative error to the exact product is {errors}; {plain}."));
    }
    let error = |emulation: &Emulation| Some(outcome(emulation)?.scheme.of_magnitude).filter(|error| !error.is_nan());
    let plain: Option<DoubleErrors> = done.iter().filter_map(outcome).map(|outcome| outcome.fused).next();
    if let (Some(errors), Some(plain)) = (errors_in_words(done, error, named), plain) {
        let begin = if sentences.is_empty() { "" } else { " " };
        let plain = in_words("f64", plain.of_magnitude);
        sentences.push(format!(
            "{begin}On {on} the largest error of a product in f64, over sum |ab|, is {errors}; {plain}."
        ));
    }
    sentences.extend(infinities(request, done).map(|sentence| match sentences.is_empty() {
        true => sentence,
        false => format!(" {sentence}"),
    }));
    let integers = done.iter().filter_map(|emulation| match emulation.outcome {
        EmulationResult::Integers(counts) => Some(counts),
        EmulationResult::Numbers { .. } | EmulationResult::Doubles(_) => None,
    });
    let begin = if sentences.is_empty() { format!("On {on} ") } else { " ".to_string() };
    sentences.extend(integers.reduce(Integers::with).map(|counts| {
        let (held, exact) = (grouped(counts.held as i64), grouped(counts.exact as i64));
        format!("{begin}{exact} of {held} integers that s32 holds are exact.")
    }));
    (!sentences.is_empty()).then(|| sentences.concat())
}

/// The range of errors in words; one error, if all products have the same.
fn errors_in_words(
    done: &[Emulation],
    error: impl Fn(&Emulation) -> Option<f64>,
    named: impl Fn(&Emulation, f64) -> String,
) -> Option<String> {
    let values: Vec<f64> = done.iter().filter_map(&error).collect();
    match values[..] {
        [first, _, ..] if values.iter().all(|value| *value == first) => {
            Some(format!("{} for each of {} products", three_digits(first), values.len()))
        }
        _ => span(done, error, named),
    }
}

/// The most infinities and NaN of a product, in a sentence; `None` if all elements are finite.
fn infinities(request: &EmulateRequest, done: &[Emulation]) -> Option<String> {
    let count = |emulation: &Emulation| match &emulation.outcome {
        EmulationResult::Doubles(outcome) => outcome.scheme.infinite,
        EmulationResult::Numbers { infinite, .. } => *infinite,
        EmulationResult::Integers(_) => 0,
    };
    let batch = request.operands.as_ref().map_or(1, |operands| operands.batch);
    let most = done.iter().rev().max_by_key(|emulation| count(emulation))?;
    let plain = done.iter().filter_map(outcome).map(|outcome| outcome.fused.infinite).max().unwrap_or(0);
    if count(most) == 0 && plain == 0 {
        return None;
    }
    let all = grouped((most.rows * most.shape.n * batch) as i64);
    let name = &request.schemes[most.scheme].name;
    let [infinite, plain] = [count(most), plain].map(|count| grouped(count as i64));
    let counts = match (count(most), plain.as_str()) {
        (0, _) => format!("{plain} of {all} elements of plain f64 are infinite or NaN"),
        (_, "0") => format!("{infinite} of {all} elements are infinite or NaN ({name})"),
        _ => format!("{infinite} of {all} elements are infinite or NaN ({name}), and {plain} of plain f64"),
    };
    Some(format!("{counts}. Errors leave these elements out."))
}

/// The factors, the addend and the batch in words; `None` for one product A B.
fn addition(operands: &ProductOperands) -> Option<String> {
    let ProductOperands { alpha, beta, batch, c, .. } = operands;
    let equation = match c {
        Some(_) => format!("D = {alpha} A B + {beta} C, in S and in sum |ab| too. "),
        None => format!("D = {alpha} A B, in S and in sum |ab| too. "),
    };
    let several = format!("A batch of {batch} products, which have one number of slices. ");
    let words = [(operands.is_scaled(), equation), (*batch > 1, several)];
    let words: String = words.into_iter().filter(|(applies, _)| *applies).map(|(_, words)| words).collect();
    (!words.is_empty()).then(|| words.trim_end().to_string())
}

/// Notes for the reader.
fn notes(request: &EmulateRequest, done: &[Emulation]) -> Vec<String> {
    let mut notes = Vec::new();
    let sampled = done.iter().filter(|emulation| emulation.rows < emulation.shape.m);
    let sampled = distinct(sampled.map(|emulation| format!("{} of {}", emulation.rows, emulation.shape.m)));
    if !sampled.is_empty() {
        notes.push(format!("Computed and compared rows, spread over the product: {}.", sampled.join(", ")));
    }
    let emulated = |emulates: Emulated| {
        done.iter().any(|emulation| {
            let scheme = &request.schemes[emulation.scheme];
            !scheme.is_integer() && scheme.emulates == emulates
        })
    };
    let drawn = match &request.operands {
        Some(_) => "given".to_string(),
        None => request.draw.unwrap_or(USUAL).to_string(),
    };
    if emulated(Emulated::Double) {
        notes.push(format!(
            "A and B in f64 are {drawn}. V is an element of the product, S its exact sum. =exact counts elements equal to S, rounded to \
             f64. Plain f64 is a chain of fused multiply-adds, ascending k, from zero."
        ));
        notes.extend(request.operands.as_ref().and_then(addition));
    }
    if emulated(Emulated::Single) {
        let rounded = if request.operands.is_some() { "" } else { ", rounded to f32" };
        notes.push(format!(
            "A and B are {drawn}{rounded}. V is an element of the product. V_f32 and V_f64 are plain sums of the unsplit operands, \
             ascending k, each product and each sum rounded. Max_error = max |V - S| / (|V| + |S|), MRED = mean |S - V| / |S|."
        ));
    }
    let plain = done.iter().filter_map(|emulation| {
        let (ProductShape { m, n, k }, (.., plain)) = (emulation.shape, measured(emulation)?);
        (!plain.mred.is_nan()).then(|| {
            format!("{m} x {n} x {k}: at most {}, MRED {}", three_digits(plain.absolute), three_digits(plain.mred))
        })
    });
    let plain = distinct(plain);
    if !plain.is_empty() {
        notes.push(format!("Difference of V_f32 from the exact product: {}.", plain.join("; ")));
    }
    notes
}
