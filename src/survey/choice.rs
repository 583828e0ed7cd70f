//! The models that a survey compares with.
//!
//! They are the one of the device's generation, else the nearest, and the one of the generation before.

use super::{Progressed, Survey};
use crate::{
    Result, Stage,
    arithmetic::{Model, named, shipped},
    base::interrupt,
    device::Generation,
    document::{Measured, measured},
    isa::Instruction,
    report::{Declaration, Rows},
};

/// A model, as the command line names it.
#[derive(Debug)]
pub(super) struct NamedModel {
    /// The name or the file.
    pub(super) argument: String,
    /// The model.
    pub(super) model: Model,
}

/// The models that a survey compares with.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// The model that the device is compared with.
    pub(super) model: Option<NamedModel>,
    /// The model that new things are new against.
    pub(super) before: Option<NamedModel>,
    /// The reason of the choice, where it is none of the generation.
    pub(super) note: Option<String>,
    /// True if the choice is made.
    chosen: bool,
}

impl NamedModel {
    fn load(argument: &str) -> Result<NamedModel> {
        Ok(NamedModel { argument: argument.into(), model: Model::load(argument)? })
    }
}

impl Comparison {
    /// The comparison with the model that is asked for, if any.
    ///
    /// # Errors
    /// There is no such model.
    pub(super) fn asked(model: Option<&str>) -> Result<Comparison> {
        let model = model.map(NamedModel::load).transpose()?;
        Ok(Comparison { model, ..Comparison::default() })
    }

    /// True if nothing is left to choose.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// The model as the command line names it.
    pub(super) fn model_name(&self) -> Option<&str> {
        self.model.as_ref().map(|model| model.argument.as_str())
    }

    /// True if the model has a rule for an instruction.
    pub(super) fn covers(&self, instruction: &Instruction) -> bool {
        self.model.as_ref().is_some_and(|model| model.model.rule(instruction).is_some())
    }
}

impl Survey {
    /// Chooses the model to compare with, and the one before.
    ///
    /// # Errors
    /// A model that the device names cannot be read; this program cannot be started.
    pub(super) fn choose(&mut self, declared: &[Declaration], watch: &dyn Fn(Stage)) -> Result<Progressed> {
        let withheld = self.request.withheld.clone();
        let before = |model: &str| self.plan.before(model, &withheld).map(String::from);
        let of_generation = match &self.identity.generation {
            Generation::Named(name) if named(name).is_none() => Some(name.clone()),
            generation => generation.shipped_model().map(String::from),
        };
        let asked = self.comparison.model_name().map(String::from);
        let (model, earlier, note) = match (asked, of_generation) {
            (Some(model), Some(generation)) if model == generation => (Some(model.clone()), before(&model), None),
            (Some(model), _) => (Some(model.clone()), Some(model), None),
            (None, Some(model)) if !withheld.contains(&model) => (Some(model.clone()), before(&model), None),
            (None, Some(model)) if before(&model).is_some() => {
                let note = format!("The model {model} of the generation is withheld, so the one before is compared.");
                (before(&model), before(&model), Some(note))
            }
            (None, _) => {
                let (nearest, progressed) = self.nearest(declared, watch)?;
                if progressed == Progressed::Ended {
                    return Ok(progressed);
                }
                let why = "No shipped model is of the device's generation";
                let note = match &nearest {
                    Some(model) => format!("{why}, so it is compared with the nearest one, {model}."),
                    None => format!("{why}, and none has an instruction that it computes alike."),
                };
                (nearest.clone(), nearest, Some(note))
            }
        };
        let load = |name: Option<String>| name.as_deref().map(NamedModel::load).transpose();
        self.comparison = Comparison { model: load(model)?, before: load(earlier)?, note, chosen: true };
        Ok(Progressed::On)
    }

    /// The shipped model with the most instructions that the device computes alike, by a few instructions.
    fn nearest(&mut self, declared: &[Declaration], watch: &dyn Fn(Stage)) -> Result<(Option<String>, Progressed)> {
        let mut best: Option<(usize, &str)> = None;
        for name in shipped().filter(|name| self.request.withheld.iter().all(|other| other != name)) {
            let model = Model::load(name)?;
            let covered: Vec<&Instruction> =
                self.instructions.iter().filter(|instruction| model.rule(instruction).is_some()).collect();
            let step = &self.plan.nearest;
            let apart = covered.len().div_ceil(step.most).max(1);
            let names: Vec<String> = covered.iter().step_by(apart).map(|i| i.name.clone()).collect();
            if names.is_empty() {
                continue;
            }
            let work = self.work(step, &format!("{}-{name}", step.name), name, &names);
            let Measured { kept, wrong, interrupted, .. } = measured(&[work], declared, watch)?;
            if interrupted.is_some() || !wrong.is_empty() {
                self.ended_in = Some(step.name.clone());
                interrupt::answered();
                (self.interrupted, self.wrong) = (interrupted, wrong);
                return Ok((None, Progressed::Ended));
            }
            let tables = kept.iter().flat_map(|kept| &kept.report.tables).filter(|table| table.key == "verification");
            let alike = |table| Rows(table).iter().filter(|row| row.integer("differing") == Some(0)).count();
            let alike: usize = tables.map(alike).sum::<usize>() * apart;
            if alike > 0 && best.is_none_or(|(most, _)| alike > most) {
                best = Some((alike, name));
            }
        }
        Ok((best.map(|(_, name)| name.to_string()), Progressed::On))
    }
}
