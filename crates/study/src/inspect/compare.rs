//! Comparison of two tensors after decoding, and the convention that explains a difference.

use super::{
    likeness,
    table::{ComparedTensorRow, format_name, order_words},
};
use crate::{
    Result,
    base::{interrupt, work},
    checkpoint::{
        Checkpoint, CheckpointTensor, GlobalScale, Packing, Quantised, Reading, ScalePlace, TensorContent, TensorReader,
    },
    report::three_digits,
    tensor::{Energies, Losses, Matrices, Sharing, TensorPiece},
};

/// Pieces that are worked on before their results are taken: memory is bounded by it.
const TOGETHER: usize = 64;
/// Relative difference within which two numbers are the same but for roundings to `f32`.
pub(super) const ROUNDING: f64 = 1e-6;

/// Findings of tensors that are the same.
pub(super) const SAME_VALUES: &str = "same values";
pub(super) const SAME_BYTES: &str = "same bytes";
/// Finding of tensors that nothing explains.
const DIFFERENT: &str = "values differ";
/// Bytes of arrays that are compared at once.
const BYTES: usize = 1 << 22;

/// A tensor with the checkpoint that has it.
pub(super) type Side<'a> = (&'a Checkpoint, &'a CheckpointTensor);

/// Differences of the second of two tensors from the first.
#[derive(Debug, Clone, Copy, Default)]
struct Differences {
    losses: Losses,
    /// Number of differences beyond roundings to `f32`.
    apart: u64,
    /// Values that are NaN in one alone, in the first and in the second.
    nan: [u64; 2],
    /// Values that are infinite in one alone, in the first and in the second.
    infinite: [u64; 2],
}

/// Parts of two tensors that are the same, for every pair of readings.
#[derive(Debug, Clone, PartialEq)]
struct SameParts {
    /// By the packings of the first and of the second.
    codes: Vec<((Packing, Packing), bool)>,
    /// By whether the scales of the first and of the second lie in tiles.
    scales: Vec<((bool, bool), bool)>,
}

/// Compares a tensor of two checkpoints; `done` gets numbers of values.
///
/// # Errors
/// As [`Checkpoint::read`]; a signal.
pub fn compare(first: Side, second: Side, done: &mut dyn FnMut(u64)) -> Result<ComparedTensorRow> {
    let mut row = row(first, second);
    if let Some((_, tensor)) = [first, second].into_iter().find(|(_, tensor)| !tensor.is_decoded()) {
        let what = match &tensor.content {
            TensorContent::Opaque { stored, .. } if tensor.layouts.is_empty() => stored,
            _ => tensor.layouts.first().unwrap_or(&tensor.name),
        };
        row.finding = match same_bytes(first, second)? {
            true => SAME_BYTES.into(),
            false => format!("not compared: {what} is not decoded, and the bytes differ"),
        };
        return Ok(row);
    }
    if first.1.shape != second.1.shape {
        row.finding = format!("the shapes differ: {:?} and {:?}", first.1.shape, second.1.shape);
        return Ok(row);
    }
    // A convolution is read as the matrix that the other file keeps.
    let (mut one, mut other) = (first.1.clone(), second.1.clone());
    if one.read_shape != other.read_shape {
        match (one.quantised().is_some(), other.quantised().is_some()) {
            (_, false) => other.read_shape.clone_from(&one.read_shape),
            (false, true) => one.read_shape.clone_from(&other.read_shape),
            (true, true) => {
                row.finding = "not compared: only one is stored as a matrix".into();
                return Ok(row);
            }
        }
    }
    // A bias of q or k has an element for each row.
    if let [rows] = one.read_shape[..]
        && [first.0, second.0]
            .iter()
            .zip([&one, &other])
            .any(|(file, tensor)| file.unpaired(&tensor.name, rows).is_some())
    {
        (one.read_shape, other.read_shape) = (vec![rows, 1], vec![rows, 1]);
    }
    let (first, second): (Side, Side) = ((first.0, &one), (second.0, &other));
    // Rows of q and k lie in pairs in GGUF, and not in other files.
    let rows = |(checkpoint, tensor): Side| checkpoint.unpaired(&tensor.name, Matrices::of(&tensor.read_shape).rows);
    let rows = match (rows(first), rows(second)) {
        (Some(_), Some(_)) => (None, None),
        rows => rows,
    };
    let paired = rows.0.is_some() || rows.1.is_some();
    let readers = (reader(first, rows.0)?, reader(second, rows.1)?);
    compare_values(row, (first, second), &readers, paired, done)
}

/// The row of a comparison before it is made.
pub(super) fn row(first: Side, second: Side) -> ComparedTensorRow {
    let described = |(checkpoint, tensor): Side| {
        let format = format_name(&checkpoint.file, tensor);
        match tensor.layouts.first() {
            Some(layout) => format!("{layout}, {format}"),
            None => format,
        }
    };
    ComparedTensorRow::new(first.1, Some(described(first)), Some(described(second)), String::new())
}

/// Compares the values of two tensors of the same shape, as their readers read them.
///
/// Codes and scales are compared only if the readers take the files' own rows.
///
/// # Errors
/// As [`TensorReader::values`]; a signal.
pub(super) fn compare_values(
    mut row: ComparedTensorRow,
    (first, second): (Side, Side),
    readers: &(TensorReader, TensorReader),
    other_rows: bool,
    done: &mut dyn FnMut(u64),
) -> Result<ComparedTensorRow> {
    let mut all = Differences::default();
    let one = |piece: TensorPiece, (): &mut ()| {
        let values = (readers.0.values(&piece, None)?, readers.1.values(&piece, None)?);
        let rests = [readers.0.rests(&piece)?, readers.1.rests(&piece)?];
        Ok((differences(&values.0, &values.1, &rests), piece.len() as u64))
    };
    work::each(first.1.pieces(), TOGETHER, one, |(differences, count)| {
        all.add(&differences);
        done(count);
    })?;
    (row.values, row.differ) = (Some(first.1.len() as u64), Some(all.differ()));
    // Without finite values that differ, no difference is the largest.
    let largest = all.losses.max_error;
    row.max_difference = (all.differ() == 0 || largest > 0.0).then_some(largest);
    row.relative_rms = all.losses.energies.relative_rms();
    if all.differ() == 0 {
        row.finding = SAME_VALUES.into();
        return Ok(row);
    }
    row.finding = match all.apart {
        0 => "the same but for rounding: relative differences are below 1e-6".into(),
        _ => DIFFERENT.into(),
    };
    let special = all.special();
    if let (Some(x), Some(y)) = (first.1.quantised(), second.1.quantised())
        && !other_rows
        && x.format == y.format
        && (x.offset, x.exponent) == (y.offset, y.exponent)
        && x.values == y.values
        && !(x.has_zero_points() || y.has_zero_points())
        && blocks(x, first.1) == blocks(y, second.1)
    {
        let same = same_parts((x, &readers.0), (y, &readers.1), first.1)?;
        // The usual readings come first.
        row.same_codes = same.codes.first().map(|(_, same)| *same);
        row.same_scales = same.scales.first().map(|(_, same)| *same);
        let scales = match (row.same_codes, row.same_scales) {
            (Some(true), Some(false)) => likeness::of_scales((first, second), readers)?,
            _ => None,
        };
        if let Some(words) = explanation((x, y), &same) {
            row.finding = scales.map_or(words.clone(), |scales| format!("{words}: {scales}"));
        }
    } else if let (1.., Some(words)) = (all.apart, closer((first, second), readers, &all)?) {
        row.finding = words;
    }
    if row.finding == DIFFERENT
        && let Some(words) = likeness::words((first, second), readers)?
    {
        row.finding = words;
    }
    if let Some(special) = special {
        row.finding = format!("{}; {special}", row.finding);
    }
    Ok(row)
}

/// The reader of a tensor, or of some of its rows.
pub(super) fn reader<'a>((checkpoint, tensor): Side<'a>, rows: Option<Vec<usize>>) -> Result<TensorReader<'a>> {
    let reader = checkpoint.reader(tensor)?;
    Ok(match rows {
        Some(rows) => reader.of_rows(rows),
        None => reader,
    })
}

/// True if all arrays of two tensors have the same types, shapes and bytes.
fn same_bytes((one, first): Side, (other, second): Side) -> Result<bool> {
    if first.shape != second.shape || first.arrays.len() != second.arrays.len() {
        return Ok(false);
    }
    for (x, y) in first.arrays.iter().zip(&second.arrays) {
        let find = |checkpoint: &'_ Checkpoint, name: &str| {
            checkpoint.file.arrays.iter().position(|array| array.name == name && array.complete)
        };
        let (Some(x), Some(y)) = (find(one, x), find(other, y)) else { return Ok(false) };
        let (x, y) = (&one.file.arrays[x], &other.file.arrays[y]);
        if x.kind != y.kind || x.shape != y.shape || x.data.1 != y.data.1 {
            return Ok(false);
        }
        let mut bytes = (Vec::new(), Vec::new());
        for place in (0..x.data.1).step_by(BYTES) {
            interrupt::check()?;
            let count = (x.data.1 - place).min(BYTES as u64) as usize;
            bytes.0.resize(count, 0);
            bytes.1.resize(count, 0);
            one.file.read_bytes(x, place, &mut bytes.0)?;
            other.file.read_bytes(y, place, &mut bytes.1)?;
            if bytes.0 != bytes.1 {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

impl Differences {
    fn add(&mut self, other: &Differences) {
        self.losses.add(&other.losses);
        self.apart += other.apart;
        for at in [0, 1] {
            self.nan[at] += other.nan[at];
            self.infinite[at] += other.infinite[at];
        }
    }

    /// Number of values that differ.
    fn differ(&self) -> u64 {
        self.losses.values - self.losses.exact
    }

    /// NaNs and infinities of one alone, in words; `None` if there are none.
    fn special(&self) -> Option<String> {
        let counts = [("NaN", self.nan), ("infinite", self.infinite)];
        let each = counts.iter().flat_map(|(what, [first, second])| {
            [(what, "first", first), (what, "second", second)].into_iter().filter(|(_, _, count)| **count > 0)
        });
        let words: Vec<String> =
            each.map(|(what, which, count)| format!("{count} {what} in the {which} only")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Differences of `count` values, before any is compared.
    fn of(count: usize) -> Differences {
        let values = count as u64;
        Differences { losses: Losses { values, exact: values, ..Losses::default() }, ..Differences::default() }
    }

    /// Adds a value that is the same in both.
    fn add_same(&mut self, x: f64) {
        match x.is_finite() {
            true => self.losses.energies.signal += x * x,
            false if x.is_nan() => self.losses.nan += 1,
            false => self.losses.infinite += 1,
        }
    }

    /// Adds a pair of values that differ by `difference`.
    fn add_pair(&mut self, x: f64, y: f64, difference: f64) {
        self.losses.exact -= 1;
        self.losses.nan += u64::from(x.is_nan());
        self.losses.infinite += u64::from(x.is_infinite());
        self.losses.void += u64::from(x.is_finite() && !y.is_finite());
        self.apart += u64::from(difference.abs() > ROUNDING * x.abs() || !difference.is_finite());
        self.nan[0] += u64::from(x.is_nan());
        self.nan[1] += u64::from(y.is_nan());
        if x.is_infinite() != y.is_infinite() {
            self.infinite[0] += u64::from(x.is_infinite());
            self.infinite[1] += u64::from(y.is_infinite());
        }
        if x.is_finite() && y.is_finite() {
            self.losses.max_error = self.losses.max_error.max(difference.abs());
            self.losses.energies.add(&Energies { signal: x * x, noise: difference * difference });
        }
    }
}

/// Differences of values; integers of 64 bits are sums of the nearest double and a rest.
fn differences(first: &[f64], second: &[f64], rests: &[Option<Vec<f64>>; 2]) -> Differences {
    let rest = |which: usize, at: usize| rests[which].as_ref().map_or(0.0, |rests| rests[at]);
    let mut all = Differences::of(first.len());
    for (at, (x, y)) in first.iter().zip(second).enumerate() {
        let (x_rest, y_rest) = (rest(0, at), rest(1, at));
        match x == y && x_rest == y_rest || x.is_nan() && y.is_nan() {
            true => all.add_same(*x),
            false => all.add_pair(*x, *y, (x - y) + (x_rest - y_rest)),
        }
    }
    // No difference of two integers is a rounding.
    if rests.iter().all(Option::is_some) {
        all.apart = all.differ();
    }
    all
}

/// Rows and columns of a block.
fn blocks(quantised: &Quantised, tensor: &CheckpointTensor) -> (usize, usize) {
    quantised.sharing.extents(Matrices::of(&tensor.read_shape))
}

/// The orders of nibbles that are tried.
fn packings(quantised: &Quantised) -> Vec<Packing> {
    let usual = quantised.reading.packing;
    if !quantised.has_orders() {
        return vec![usual];
    }
    let mut all = vec![usual];
    let run = match quantised.sharing {
        Sharing::Block(1, width) if width.is_multiple_of(2) => width,
        _ => 32,
    };
    for other in [Packing::LowFirst, Packing::HighFirst, Packing::Halves(run), Packing::Halves(32)] {
        let fits = !matches!(
            (other, &quantised.place),
            (Packing::Halves(run), ScalePlace::Inside(_)) if Some(run) > quantised.block_length()
        );
        if fits && !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

fn orders(quantised: &Quantised) -> Vec<bool> {
    if quantised.either_order {
        vec![quantised.reading.swizzled, !quantised.reading.swizzled]
    } else {
        vec![quantised.reading.swizzled]
    }
}

/// Finds the parts that are the same, for all readings of one side and the usual one of the other.
fn same_parts(
    (x, first): (&Quantised, &TensorReader),
    (y, second): (&Quantised, &TensorReader),
    tensor: &CheckpointTensor,
) -> Result<SameParts> {
    let pairs = |xs: Vec<Packing>, ys: Vec<Packing>| {
        let usual = (xs[0], ys[0]);
        let one_side = ys.iter().map(move |y| (usual.0, *y)).chain(xs.iter().skip(1).map(move |x| (*x, usual.1)));
        one_side.collect::<Vec<_>>()
    };
    let mut codes: Vec<((Packing, Packing), bool)> =
        pairs(packings(x), packings(y)).into_iter().map(|key| (key, true)).collect();
    let (orders_x, orders_y) = (orders(x), orders(y));
    let one_side = orders_y.iter().map(|y| (orders_x[0], *y)).chain(orders_x.iter().skip(1).map(|x| (*x, orders_y[0])));
    let mut scales: Vec<((bool, bool), bool)> = one_side.map(|key| (key, true)).collect();
    // Most readings fail on the first piece, and are not asked again.
    for piece in tensor.pieces() {
        interrupt::check()?;
        for ((a, b), same) in codes.iter_mut().filter(|(_, same)| *same) {
            *same = equal(&first.codes(&piece, *a)?, &second.codes(&piece, *b)?);
        }
        for ((a, b), same) in scales.iter_mut().filter(|(_, same)| *same) {
            *same = equal(&first.scales(&piece, *a)?.values, &second.scales(&piece, *b)?.values);
        }
        if !codes.iter().any(|(_, same)| *same) && !scales.iter().any(|(_, same)| *same) {
            break;
        }
    }
    Ok(SameParts { codes, scales })
}

fn equal(first: &[f64], second: &[f64]) -> bool {
    first.len() == second.len() && first.iter().zip(second).all(|(x, y)| x == y || x.is_nan() && y.is_nan())
}

/// The difference in words; `None` if codes and scales are simply others.
fn explanation((x, y): (&Quantised, &Quantised), same: &SameParts) -> Option<String> {
    let codes = same.codes.iter().find(|(_, same)| *same).map(|(key, _)| *key);
    let scales = same.scales.iter().find(|(_, same)| *same).map(|(key, _)| *key);
    let mut parts = Vec::new();
    match codes {
        Some((_, b)) if b != y.reading.packing => {
            parts.push(format!("the second file's nibbles are in another order ({})", b.words()))
        }
        Some((a, _)) if a != x.reading.packing => {
            parts.push(format!("the first file's nibbles are in another order ({})", a.words()))
        }
        _ => {}
    }
    match scales {
        Some((_, b)) if b != y.reading.swizzled => parts.push(format!("the second file has its {}", order_words(b))),
        Some((a, _)) if a != x.reading.swizzled => parts.push(format!("the first file has its {}", order_words(a))),
        _ => {}
    }
    let global = likeness::of_globals(x, y);
    match (codes, scales) {
        (Some(_), Some(_)) => {
            parts.extend(global);
            (!parts.is_empty()).then(|| format!("same codes and scales, but {}", parts.join(", and ")))
        }
        (Some(_), None) => {
            parts.insert(0, "the scales differ".into());
            Some(format!("same codes, but {}", parts.join(", and ")))
        }
        (None, Some(_)) => {
            parts.insert(0, "the codes differ".into());
            Some(format!("same scales, but {}", parts.join(", and ")))
        }
        (None, None) => None,
    }
}

/// The other readings of a tensor, each with its difference from the usual one in words.
fn other_readings(quantised: &Quantised) -> Vec<(Reading, String)> {
    let usual = quantised.reading;
    let mut all = Vec::new();
    for packing in packings(quantised) {
        for swizzled in orders(quantised) {
            for global in [usual.global, usual.global.map(GlobalScale::reversed)] {
                let parts = [
                    (packing != usual.packing).then(|| packing.words()),
                    (swizzled != usual.swizzled).then(|| order_words(swizzled).into()),
                    global
                        .filter(|_| global != usual.global)
                        .map(|used| format!("a global scale that {}", used.name())),
                ];
                let words: Vec<String> = parts.into_iter().flatten().collect();
                if !words.is_empty() {
                    all.push((Reading { packing, swizzled, global }, words.join(" and ")));
                }
            }
        }
    }
    all
}

/// A reading of one side that brings the values much closer to those of the other, in words.
fn closer(sides: (Side, Side), readers: &(TensorReader, TensorReader), all: &Differences) -> Result<Option<String>> {
    let usual = all.losses.energies.relative_rms().unwrap_or(f64::INFINITY);
    // The first piece tells readings apart that are wrong as a whole.
    let Some(piece) = sides.0.1.pieces().next() else { return Ok(None) };
    let values = (readers.0.values(&piece, None)?, readers.1.values(&piece, None)?);
    let both = [(sides.0.1, "first", &readers.0, &values.1), (sides.1.1, "second", &readers.1, &values.0)];
    let mut best: Option<(f64, String)> = None;
    for (tensor, which, reader, expected) in both {
        for (reading, words) in tensor.quantised().map(other_readings).unwrap_or_default() {
            let differences = differences(expected, &reader.values(&piece, Some(reading))?, &[None, None]);
            let error = match differences.differ() {
                0 => 0.0,
                _ => differences.losses.energies.relative_rms().unwrap_or(f64::INFINITY),
            };
            if error < usual / 2.0 && error < 0.5 && best.as_ref().is_none_or(|(least, _)| error < *least) {
                let close = match error {
                    0.0 => "the same values".into(),
                    error => format!("an rms difference of {}", three_digits(error)),
                };
                best = Some((error, format!("values differ; {close} if the {which} file has {words}")));
            }
        }
    }
    Ok(best.map(|(_, words)| words))
}
