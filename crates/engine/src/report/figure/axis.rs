//! Axes of charts: positions of numbers, and ticks.

/// Share of a logarithmic axis below its numbers, if it has zeros.
const ZEROS: f64 = 0.14;
/// Share of the axis below its zeros.
const EDGE: f64 = 0.03;

/// Scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly, for whole numbers: so are the ticks.
    Whole,
    /// By their common logarithm.
    Decades,
    /// By their binary logarithm.
    Octaves,
    /// Whole numbers, as indices of `Axis::names`.
    Names,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its quantity, with the unit.
    pub title: String,
    /// How values are spread on it.
    pub scale: Scale,
    /// The names of 0, 1, 2 and so on.
    pub(crate) names: Vec<String>,
    /// True if it begins at zero, whatever the numbers.
    pub(crate) from_zero: bool,
}

/// The range of an axis.
pub(super) struct AxisRange {
    scale: Scale,
    least: f64,
    most: f64,
    /// Share of the axis below `least`, where zeros of a logarithmic axis stand.
    below: f64,
}

impl Axis {
    /// An axis of numbers.
    pub fn new(title: impl Into<String>, scale: Scale) -> Axis {
        Axis { title: title.into(), scale, names: Vec::new(), from_zero: false }
    }

    /// An axis of names.
    pub fn of_names(title: impl Into<String>, names: Vec<String>) -> Axis {
        Axis { names, ..Axis::new(title, Scale::Names) }
    }

    /// Begins at zero.
    pub fn with_zero(self) -> Axis {
        Axis { from_zero: true, ..self }
    }

    /// The range of these numbers.
    pub(super) fn range(&self, numbers: impl Iterator<Item = f64>) -> AxisRange {
        let scale = self.scale;
        let (mut least, mut most, mut below) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for number in numbers {
            if scale.is_zero(number) {
                below = ZEROS;
            } else if let Some(place) = place(scale, number) {
                (least, most) = (least.min(place), most.max(place));
            }
        }
        (least, most) = match scale {
            Scale::Names => (-0.5, self.names.len().max(1) as f64 - 0.5),
            Scale::Linear | Scale::Whole if least > most => (0.0, 1.0),
            Scale::Linear | Scale::Whole if self.from_zero => (least.min(0.0), if most > 0.0 { most } else { 1.0 }),
            Scale::Linear | Scale::Whole => (least, if most > least { most } else { least + 1.0 }),
            _ if least > most => (-8.0, 0.0),
            _ => (least.floor(), most.ceil().max(least.floor() + 1.0)),
        };
        AxisRange { scale, least, most, below }
    }
}

impl Scale {
    /// True if a number is zero, and the scale has logarithms.
    pub(super) fn is_zero(self, number: f64) -> bool {
        matches!(self, Scale::Decades | Scale::Octaves) && number == 0.0
    }
}

/// The position of a number on a scale, if it has one.
fn place(scale: Scale, number: f64) -> Option<f64> {
    let place = match scale {
        Scale::Linear | Scale::Whole | Scale::Names => number,
        Scale::Decades => number.log10(),
        Scale::Octaves => number.log2(),
    };
    place.is_finite().then_some(place)
}

impl AxisRange {
    /// Position of a number from 0 (smallest) to 1 (largest), if it has one.
    pub(super) fn share(&self, number: f64) -> Option<f64> {
        if self.scale.is_zero(number) {
            return Some(EDGE.min(self.below));
        }
        place(self.scale, number).map(|place| self.share_of(place))
    }

    fn share_of(&self, place: f64) -> f64 {
        self.below + (1.0 - self.below) * (place - self.least) / (self.most - self.least)
    }

    /// Positions from 0 to 1 and labels of as many ticks as `fit` allows, at most `most`.
    ///
    /// In a label, `^` stands before an exponent.
    pub(super) fn ticks(
        &self,
        most: usize,
        names: &[String],
        fit: impl Fn(&[(f64, String)]) -> bool,
    ) -> Vec<(f64, String)> {
        (1..=most.max(1))
            .rev()
            .map(|most| self.at_most(most, names))
            .find(|ticks| !ticks.is_empty() && fit(ticks))
            .unwrap_or_default()
    }

    /// At most `most` ticks.
    fn at_most(&self, most: usize, names: &[String]) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Names => {
                let step = names.len().div_ceil(most).max(1);
                names
                    .iter()
                    .enumerate()
                    .step_by(step)
                    .map(|(at, name)| (self.share_of(at as f64), name.clone()))
                    .collect()
            }
            Scale::Linear | Scale::Whole => {
                let least = if self.scale == Scale::Whole { 1.0 } else { 0.0 };
                let step = even_step((self.most - self.least) / most as f64).max(least);
                let first = (self.least / step - 1e-9).ceil() as i64;
                let last = (self.most / step + 1e-9).floor() as i64;
                (first..=last).map(|at| (self.share_of(at as f64 * step), written(at as f64 * step))).collect()
            }
            Scale::Decades | Scale::Octaves => {
                let (first, last) = (self.least.ceil() as i64, (self.most + 1e-9).floor() as i64);
                let step = usize::try_from(last - first + 1).unwrap_or(1).div_ceil(most).max(1);
                let label = |exponent: i64| match self.scale {
                    Scale::Octaves if (0..=16).contains(&exponent) => (1u64 << exponent).to_string(),
                    Scale::Octaves => format!("2^{exponent}"),
                    _ if (0..=3).contains(&exponent) => 10u64.pow(exponent as u32).to_string(),
                    _ => format!("10^{exponent}"),
                };
                let zero = (self.below > 0.0).then(|| (EDGE, "0".to_string()));
                let others =
                    (first..=last).step_by(step).map(|exponent| (self.share_of(exponent as f64), label(exponent)));
                zero.into_iter().chain(others).collect()
            }
        }
    }
}

/// The next larger step of 1, 2 or 5 times a power of ten.
fn even_step(step: f64) -> f64 {
    let decade = 10f64.powf(step.log10().floor());
    let of = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * decade);
    of.into_iter().find(|even| *even >= step * (1.0 - 1e-9)).unwrap_or(1.0)
}

/// The label of a number on a linear axis.
fn written(value: f64) -> String {
    let rounded = (value * 1e9).round() / 1e9;
    match rounded.abs() {
        size if size >= 1e7 || (size != 0.0 && size < 1e-4) => format!("{rounded:e}").replacen('e', "\u{d7}10^", 1),
        _ => format!("{rounded}"),
    }
}
