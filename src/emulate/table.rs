//! The tables of products that are made of products of parts.

use super::{EmulateRequest, Emulation, EmulationResult, Errors, Shape, USUAL, Unit, first_wrap};
use crate::{
    device::Device,
    report::{Table, grouped, three_digits},
};

crate::rows! {
    /// A product in f32, made of products of parts, against plain f32 (ascending k, each product and each sum rounded).
    pub struct EmulationRow in "emulations" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// What it is.
        title: String => hidden(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Rows of A and D.
        m: usize => shown("m").if_varied().essential(),
        /// Columns of B and D.
        n: usize => shown("n").if_varied(),
        /// Terms of each sum.
        k: usize => shown("k").if_varied().essential(),
        /// How many products of parts it takes.
        products: usize => shown("products").essential(),
        /// The instructions.
        instructions: Vec<String> => shown("instruction"),
        /// How the device executes them.
        execution: Vec<String> => hidden(),
        /// The rows that were computed and compared, spread over the product.
        rows: usize => shown("rows"),
        /// The elements that were compared.
        elements: usize => hidden(),
        /// Seconds that the device took for the sums, where it takes those of all elements at once.
        sum_seconds: Option<f64> => shown("sums").unit("s").if_filled().essential(),
        /// Elements that are infinite or NaN, which the errors leave out.
        infinite: Option<usize> => shown("infinite").if_filled().essential(),
        /// The largest |V - V_f32|.
        max_absolute: f64 => shown("max |V-V_f32|").essential(),
        /// That of half over it.
        half_ratio: Option<f64> => shown("half / it").if_filled().essential().beside(),
        /// The largest |V - V_f32| / (|V| + |V_f32|).
        max_error: f64 => shown("Max_error").essential(),
        /// That of half over it.
        half_max_error_ratio: Option<f64> => hidden(),
        /// The mean |V_f32 - V| / |V_f32|.
        mred: f64 => shown("MRED").essential(),
        /// That of half over it.
        half_mred_ratio: Option<f64> => hidden(),
        /// The largest |V - S|, of the exact S.
        exact_max_absolute: f64 => shown("max |V-exact|").essential(),
        /// The mean |S - V| / |S|, of the exact S.
        exact_mred: f64 => shown("MRED to exact").essential(),
        /// Elements that are the exact sum, rounded to f32.
        exact_equal: usize => shown("=exact"),
        /// The largest |V_f32 - S| of the plain product in f32, of the exact S.
        f32_exact_max_absolute: f64 => hidden(),
        /// The mean |S - V_f32| / |S|, of the exact S.
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
        /// Elements that are the yardstick's, rounded to f32.
        equal: usize => shown("equal").essential(),
        /// The most numbers of f32 from one to the other.
        ulps: u64 => shown("max ulps").essential(),
        /// The mean of those.
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
        /// The exponents of two of the binades that hold a |V - S|, ascending; the lowest, -48, holds zero too.
        error_exponents: Vec<i64> => hidden(),
        /// How many |V - S| are in each of these binades.
        error_counts: Vec<u64> => hidden(),
    }

    /// A product of integers in s32, made of products of their digits, against the exact one.
    pub struct IntegerEmulationRow in "integer_emulations" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// What it is.
        title: String => hidden(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Rows of A and D.
        m: usize => shown("m").if_varied().essential(),
        /// Columns of B and D.
        n: usize => shown("n").if_varied(),
        /// Terms of each sum.
        k: usize => shown("k").if_varied().essential(),
        /// How many products of digits it takes.
        products: usize => shown("products").essential(),
        /// The instructions.
        instructions: Vec<String> => shown("instructions"),
        /// How the device executes them.
        execution: Vec<String> => hidden(),
        /// The rows that were computed and compared, spread over the product.
        rows: usize => shown("rows"),
        /// Elements of which s32 holds the exact sum.
        held: usize => shown("s32 holds").essential(),
        /// Those of them that are it.
        exact: usize => shown("exact").essential().beside(),
        /// Elements of which s32 does not hold the exact sum.
        beyond: usize => shown("beyond s32").essential(),
        /// Those of them that are it modulo 2^32.
        wrapped: usize => shown("wrapped").essential().beside(),
        /// The smallest k at which the most extreme operands wrap.
        first_wrap: u64 => shown("extremes wrap from k").essential(),
        /// The exact sum of theirs.
        first_wrap_sum: i64 => hidden(),
    }
}

/// The names of different instructions.
fn instructions(unit: &Unit) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for instruction in &unit.instructions {
        if !names.contains(&instruction.name) {
            names.push(instruction.name.clone());
        }
    }
    names
}

/// A row for each product in f32.
pub fn emulations(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<EmulationRow> {
    let half = |own: &Emulation| {
        let same = |other: &&Emulation| {
            request.schemes[other.scheme].name == "half" && (other.device, other.shape) == (own.device, own.shape)
        };
        measured(done.iter().find(same)?).map(|(_, errors, _)| errors[0])
    };
    let row = |own: &Emulation| {
        let (infinite, errors, plain) = measured(own)?;
        let (scheme, unit) = (&request.schemes[own.scheme], request.units[own.scheme][own.device].as_ref()?);
        let [single, _, exact] = errors else { return None };
        let half = half(own).filter(|_| scheme.name != "half");
        let ratio = |of: fn(&Errors) -> f64| {
            let half = of(half.as_ref()?);
            (half > 0.0 && of(single) > 0.0).then(|| half / of(single))
        };
        Some(EmulationRow {
            scheme: scheme.name.clone(),
            title: scheme.title.clone(),
            device: devices[own.device].identity().name.to_string(),
            m: own.shape.m,
            n: own.shape.n,
            k: own.shape.k,
            products: scheme.products(),
            instructions: instructions(unit),
            execution: unit.executions.iter().map(|kind| kind.name().to_string()).collect(),
            rows: own.rows,
            sum_seconds: own.seconds,
            elements: own.rows * own.shape.n,
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

/// What was measured of a product in f32.
fn measured(own: &Emulation) -> Option<(usize, &[Errors], &Errors)> {
    match &own.outcome {
        EmulationResult::Numbers { infinite, errors, plain } => Some((*infinite, errors, plain.as_ref())),
        EmulationResult::Integers(_) => None,
    }
}

/// A row for each product in f32 and yardstick.
pub fn errors(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<EmulationErrorRow> {
    let mut rows = Vec::new();
    for own in done {
        let Some((_, errors, _)) = measured(own) else { continue };
        for error in errors {
            rows.push(EmulationErrorRow {
                scheme: request.schemes[own.scheme].name.clone(),
                device: devices[own.device].identity().name.to_string(),
                m: own.shape.m,
                n: own.shape.n,
                k: own.shape.k,
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

/// A row for each product of integers.
pub fn integers(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<IntegerEmulationRow> {
    let row = |own: &Emulation| {
        let EmulationResult::Integers(counts) = &own.outcome else { return None };
        let (scheme, unit) = (&request.schemes[own.scheme], request.units[own.scheme][own.device].as_ref()?);
        let (first_wrap, first_wrap_sum) = first_wrap(scheme)?;
        Some(IntegerEmulationRow {
            scheme: scheme.name.clone(),
            title: scheme.title.clone(),
            device: devices[own.device].identity().name.to_string(),
            m: own.shape.m,
            n: own.shape.n,
            k: own.shape.k,
            products: scheme.products(),
            instructions: instructions(unit),
            execution: unit.executions.iter().map(|kind| kind.name().to_string()).collect(),
            rows: own.rows,
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

/// Whether every product of integers is exact where s32 holds it, and what it is modulo 2^32 elsewhere.
pub fn holds(done: &[Emulation]) -> bool {
    done.iter().all(|own| match &own.outcome {
        EmulationResult::Integers(counts) => counts.exact == counts.held && counts.wrapped == counts.beyond,
        EmulationResult::Numbers { .. } => true,
    })
}

/// The tables that have rows.
pub fn tables(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Vec<Table> {
    let of = match request.shapes[..] {
        [Shape { m, n, k }] => format!(" of {m} x {n} x {k}"),
        _ => String::new(),
    };
    let title = format!("Products{of} in f32 by schemes, against plain f32");
    let numbers = Table::of(title, emulations(request, devices, done));
    let errors = Table::of("Against each yardstick", errors(request, devices, done));
    let title = format!("Products{of} of integers by digits, in s32");
    let integers = Table::of(title, integers(request, devices, done));
    [numbers, errors, integers].into_iter().filter_map(Table::filled).collect()
}

/// How near products come to what they should be, in sentences; `None` without one.
pub fn answer(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> Option<String> {
    let on = match devices {
        [one] => one.identity().name.to_string(),
        several => format!("{} devices", several.len()),
    };
    let error = |own: &Emulation| measured(own).map_or(0.0, |(_, errors, _)| errors[errors.len() - 1].mred);
    let named = |own: &Emulation| {
        let device = match devices {
            [_] => String::new(),
            several => format!(" on {}", several[own.device].identity().name),
        };
        let Shape { m, n, k } = own.shape;
        let shape = if request.shapes.len() > 1 { format!(", {m} x {n} x {k}") } else { String::new() };
        format!("{} ({}{device}{shape})", three_digits(error(own)), request.schemes[own.scheme].name)
    };
    let mut numbers: Vec<&Emulation> = done.iter().filter(|own| measured(own).is_some()).collect();
    numbers.sort_by(|x, y| f64::total_cmp(&error(x), &error(y)));
    let plain = numbers.first().and_then(|own| measured(own)).map(|(.., plain)| three_digits(plain.mred));
    let mut sentences = Vec::new();
    match &numbers[..] {
        [] => (),
        [one] => sentences.push(format!("On {on} the mean relative error to the exact product is {}", named(one))),
        [least, .., most] => sentences.push(format!(
            "On {on} the mean relative error to the exact product is from {} to {}",
            named(least),
            named(most)
        )),
    }
    sentences.extend(plain.map(|plain| format!("; plain f32 has {plain}.")));
    let integers = done
        .iter()
        .filter_map(|own| if let EmulationResult::Integers(counts) = &own.outcome { Some(counts) } else { None });
    let counts = integers.map(|counts| (counts.held, counts.exact)).reduce(|x, y| (x.0 + y.0, x.1 + y.1));
    let begin = if sentences.is_empty() { format!("On {on} ") } else { " ".to_string() };
    sentences.extend(counts.map(|(held, exact)| {
        let (held, exact) = (grouped(held as i64), grouped(exact as i64));
        format!("{begin}{exact} of {held} integers that s32 holds are exact.")
    }));
    (!sentences.is_empty()).then(|| sentences.concat())
}

/// What the reader of the numbers must know.
pub fn notes(request: &EmulateRequest, done: &[Emulation]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut sampled: Vec<String> = Vec::new();
    for own in done.iter().filter(|own| own.rows < own.shape.m) {
        let words = format!("{} of {}", own.rows, own.shape.m);
        if !sampled.contains(&words) {
            sampled.push(words);
        }
    }
    if !sampled.is_empty() {
        notes.push(format!("Rows that were computed and compared, spread over the product: {}.", sampled.join(", ")));
    }
    if request.schemes.iter().any(|scheme| !scheme.is_integer()) {
        notes.push(format!(
            "A and B are {}, rounded to f32. V is an element of the product; V_f32 and V_f64: the plain sum of the operands before they are \
             split, ascending k, each product and each sum rounded. Max_error = max |V - S| / (|V| + |S|), MRED = mean |S - V| / |S|.",
            request.draw.unwrap_or(USUAL)
        ));
    }
    let mut shapes: Vec<(Shape, String)> = Vec::new();
    for own in done {
        let (Some((.., plain)), false) = (measured(own), shapes.iter().any(|(shape, _)| *shape == own.shape)) else {
            continue;
        };
        let Shape { m, n, k } = own.shape;
        let words = format!("{m} x {n} x {k}: at most {:.2e}, MRED {:.2e}", plain.absolute, plain.mred);
        shapes.push((own.shape, words));
    }
    if !shapes.is_empty() {
        let all: Vec<String> = shapes.into_iter().map(|(_, words)| words).collect();
        notes.push(format!("V_f32 differs from the exact product: {}.", all.join("; ")));
    }
    notes
}
