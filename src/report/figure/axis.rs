//! Axes of charts: positions of numbers, and ticks.

/// Scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// By their common logarithm; positive numbers only.
    Decades,
    /// By their binary logarithm; positive numbers only.
    Octaves,
    /// Whole numbers, as indices of `Axis::names`.
    Names,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// Its quantity, with the unit.
    pub(crate) title: String,
    pub(crate) scale: Scale,
    /// The names of 0, 1, 2 and so on.
    pub(crate) names: Vec<String>,
}

/// The range of an axis.
pub(super) struct AxisRange {
    scale: Scale,
    least: f64,
    most: f64,
}

impl Axis {
    /// An axis of numbers.
    pub(crate) fn new(title: impl Into<String>, scale: Scale) -> Axis {
        Axis { title: title.into(), scale, names: Vec::new() }
    }

    /// An axis of names.
    pub(crate) fn of_names(title: impl Into<String>, names: Vec<String>) -> Axis {
        Axis { title: title.into(), scale: Scale::Names, names }
    }

    /// The range of these numbers.
    pub(super) fn range(&self, numbers: impl Iterator<Item = f64>) -> AxisRange {
        let scale = self.scale;
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in numbers.filter_map(|number| place(scale, number)) {
            (least, most) = (least.min(place), most.max(place));
        }
        (least, most) = match scale {
            Scale::Names => (-0.5, self.names.len().max(1) as f64 - 0.5),
            _ if least > most => {
                if scale == Scale::Linear {
                    (0.0, 1.0)
                } else {
                    (-8.0, 0.0)
                }
            }
            Scale::Decades => (least.floor(), most.ceil().max(least.floor() + 1.0)),
            _ => (least, if most > least { most } else { least + 1.0 }),
        };
        AxisRange { scale, least, most }
    }
}

/// The position of a number on a scale, if it has one.
fn place(scale: Scale, number: f64) -> Option<f64> {
    let place = match scale {
        Scale::Linear | Scale::Names => number,
        Scale::Decades => number.log10(),
        Scale::Octaves => number.log2(),
    };
    place.is_finite().then_some(place)
}

impl AxisRange {
    /// Position of a number from 0 (smallest) to 1 (largest), if it has one.
    pub(super) fn share(&self, number: f64) -> Option<f64> {
        Some((place(self.scale, number)? - self.least) / (self.most - self.least))
    }

    /// Extends a linear range to zero.
    pub(super) fn with_zero(self) -> AxisRange {
        match self.scale {
            Scale::Linear => AxisRange { least: self.least.min(0.0), most: self.most.max(0.0), ..self },
            _ => self,
        }
    }

    /// At most `most` ticks: their positions from 0 to 1, and their labels.
    pub(super) fn ticks(&self, most: usize, names: &[String]) -> Vec<(f64, String)> {
        let share = |place: f64| (place - self.least) / (self.most - self.least);
        match self.scale {
            Scale::Names => {
                let step = names.len().div_ceil(most.max(1)).max(1);
                names.iter().enumerate().step_by(step).map(|(at, name)| (share(at as f64), name.clone())).collect()
            }
            Scale::Linear => {
                let step = even_step((self.most - self.least) / most.max(1) as f64);
                let first = (self.least / step).ceil() as i64;
                let last = (self.most / step + 1e-9).floor() as i64;
                (first..=last).map(|at| (share(at as f64 * step), written(at as f64 * step))).collect()
            }
            Scale::Decades | Scale::Octaves => {
                let (first, last) = (self.least.ceil() as i64, (self.most + 1e-9).floor() as i64);
                let step = usize::try_from(last - first + 1).unwrap_or(1).div_ceil(most.max(1)).max(1);
                let label = |exponent: i64| match self.scale {
                    Scale::Octaves if (0..=20).contains(&exponent) => (1u64 << exponent).to_string(),
                    Scale::Octaves => format!("2^{exponent}"),
                    _ if (0..=3).contains(&exponent) => 10u64.pow(exponent as u32).to_string(),
                    _ => format!("1e{exponent}"),
                };
                (first..=last).step_by(step).map(|exponent| (share(exponent as f64), label(exponent))).collect()
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
        size if size >= 1e6 || (size != 0.0 && size < 1e-4) => format!("{rounded:e}"),
        _ => format!("{rounded}"),
    }
}
