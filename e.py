def sub(p, *pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s, (p,a)
        s=s.replace(a,b)
    open(p,'w').write(s)
sub('src/cli/gemm/library.rs',('''            read_layers, read_shapes,
        },
        tables,
''','''            read_layers, read_shapes,
            tables::LibraryProductRow,
        },
'''))
sub('src/gemm/tables.rs',('''use super::{
    Differences, Factors, Schedule,
''','''use super::{
    Accuracy, Differences, Factors, Schedule, Yardstick,
'''),('''use crate::format::Format;

''','''use crate::{
    format::Format,
    report::{grouped, three_digits},
};

'''))
sub('src/cli/drawings.rs',
('''/// Where the figures of a result go.
#[derive''','''/// The figures that a command may have.
pub(super) struct Figures<'a> {
    drawings: &'a Drawings,
    /// What all figures of the command show.
    show: &'static str,
    /// Whether its result has one.
    some: bool,
}

impl Figures<'_> {
    /// Refuses, before any work, figures that the result will not have.
    ///
    /// # Errors
    /// A request error: it has none.
    pub(super) fn check(&self) -> Result<()> {
        match self.drawings.flag().filter(|_| !self.some) {
            Some(flag) => {
                Err(Error::request(format!("{flag}: this result has nothing to draw; figures show {}", self.show)))
            }
            None => Ok(()),
        }
    }

    /// Draws the figures of a result; `whole`: nothing ended the work before.
    ///
    /// # Errors
    /// A request error: a whole result has none, or a file cannot be written, or would replace one that is no drawing.
    pub(super) fn write(&self, report: &Report, whole: bool) -> Result<()> {
        let Some(flag) = self.drawings.flag() else { return Ok(()) };
        match figures(report) {
            all if !all.is_empty() => self.drawings.write(&all),
            _ if whole => Err(Error::request(format!("{flag}: this result has nothing to draw"))),
            _ => Ok(()),
        }
    }
}

/// Where the figures of a result go.
#[derive'''),
('''impl Drawings {
''','''impl Drawings {
    /// The figures of a command, which show this, if its result has some.
    pub(super) fn of(&self, show: &'static str, some: bool) -> Figures<'_> {
        Figures { drawings: self, show, some }
    }

    /// The flag that asks for figures, if one does.
    pub(super) fn flag(&self) -> Option<&'static str> {
        self.plot.as_ref().map(|_| "--plot").or(self.plots.as_ref().map(|_| "--plots"))
    }

'''),
('''    /// Draws the figures of a result.
    ///
    /// # Errors
    /// A request error: the result has none, or a file cannot be written, or would replace one that is no drawing.
    pub(super) fn write(&self, report: &Report) -> Result<()> {
        if self.plot.is_none() && self.plots.is_none() {
            return Ok(());
        }
        let flag = if self.plot.is_some() { "--plot" } else { "--plots" };
        let all = figures(report);
        let first = all.first().ok_or_else(|| Error::request(format!("{flag}: this result has nothing to draw")))?;
        if let Some(path) = &self.plot {
            first.scene''','''    fn write(&self, all: &[Figure]) -> Result<()> {
        if let (Some(path), Some(first)) = (&self.plot, all.first()) {
            first.scene'''),
("    document::figures,","    document::{Figure, figures},"),
)
sub('src/cli/mod.rs',
('''    /// Where the figures of the result go, if it may have some.
    fn drawings(&self) -> Option<&Drawings> {
        match self {
            Command::Quantise(a) => Some(&a.drawings),
            Command::Probe(a) => Some(&a.drawings),
            Command::Verify(a) => Some(&a.drawings),
            Command::Distinguish(a) => Some(&a.drawings),
            Command::Chain(a) => Some(&a.drawings),
            Command::Gemm(a) => Some(&a.drawings),
            Command::Emulate(a) => Some(&a.drawings),
            Command::Cost(a) => Some(&a.drawings),
            Command::Experiment(a) => Some(&a.drawings),
            _ => None,
        }
    }
''','''    /// The figures of the result, if the command may have some.
    ///
    /// # Errors
    /// A file that says which figures there are, and cannot be read.
    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(match self {
            Command::Quantise(a) => a.drawings.of("errors by format", true),
            Command::Probe(a) => a.drawings.of("errors of matrix instructions", a.has_figures()),
            Command::Verify(a) => a.drawings.of("rates of campaigns (--instr, --fmt, --all)", a.has_figures()),
            Command::Distinguish(a) => a.drawings.of("which models compute alike, without devices", a.has_figures()),
            Command::Chain(a) => a.drawings.of("errors by length", true),
            Command::Gemm(a) => a.drawings.of("how far a product that is computed is from the exact one", a.has_figures()),
            Command::Emulate(a) => a.drawings.of("errors of products in f32", a.has_figures()?),
            Command::Cost(a) => a.drawings.of("rates by warps and independent runs", true),
            Command::Experiment(a) => a.drawings.of("errors of chains and products, and agreement bit by bit", a.has_figures()?),
            _ => return Ok(None),
        }))
    }
'''),
('''    let (report, failure) = complete(command, name, limit)?;
    let gates = command.gates().map_or(Ok(()), |(gates, source)| gates.write(&report, source.as_deref()));
    let drawings = command.drawings().map_or(Ok(()), |drawings| drawings.write(&report));
''','''    let (report, failure) = complete(command, name, limit)?;
    let gates = command.gates().map_or(Ok(()), |(gates, source)| gates.write(&report, source.as_deref()));
    let whole = failure.is_none() && report.interrupted.is_none();
    let drawings = command.figures().and_then(|figures| figures.map_or(Ok(()), |figures| figures.write(&report, whole)));
'''),
('''    destination.check()?;
    begin''','''    destination.check()?;
    command.figures()?.map_or(Ok(()), |figures| figures.check())?;
    begin'''),
("use drawings::Drawings;","use drawings::Figures;"),
)
sub('src/cli/cost.rs',("arguments.drawings.are_asked()","arguments.drawings.flag().is_some()"))
sub('src/cli/gemm.rs',('''        self.shapes.is_none() && self.batches.is_none() && self.between.is_empty()
    }
''','''        self.shapes.is_none() && self.batches.is_none() && self.between.is_empty()
    }

    /// Whether the result has figures: those of the accuracy of one D.
    pub(super) fn has_figures(&self) -> bool {
        self.computes_one() && self.matched.is_none()
    }
'''))
sub('src/cli/emulate.rs',('''/// Parses m, n and k.
fn shape''','''impl Arguments {
    /// Whether the result has figures: a scheme computes no integers.
    ///
    /// # Errors
    /// A scheme that cannot be read.
    pub(super) fn has_figures(&self) -> Result<bool> {
        Ok(schemes(&self.schemes)?.iter().any(|scheme| !scheme.is_integer()))
    }
}

/// Parses m, n and k.
fn shape'''))
sub('src/cli/experiment.rs',('''/// Runs the experiment.
''','''impl Arguments {
    /// Whether the result has figures.
    ///
    /// # Errors
    /// A file that is not an experiment.
    pub(super) fn has_figures(&self) -> Result<bool> {
        let Experiment { chain, products, bits, .. } = Experiment::read(&self.file)?;
        Ok(chain.is_some() || products.is_some() || bits.is_some())
    }
}

/// Runs the experiment.
'''))
sub('src/cli/verify/mod.rs',('''/// An operation whose operands are all tried.
''','''impl Arguments {
    /// Whether the result has figures: those of campaigns.
    pub(super) fn has_figures(&self) -> bool {
        let Selection { instructions, formats, all } = &self.selection;
        *all || !instructions.is_empty() || !formats.is_empty()
    }
}

/// An operation whose operands are all tried.
'''),('''    let Selection { instructions, formats, all } = &arguments.selection;
    if *all || !instructions.is_empty() || !formats.is_empty() {
        return''','''    if arguments.has_figures() {
        return'''))
sub('src/cli/distinguish.rs',('''/// Runs the command.
''','''impl Arguments {
    /// Whether the result has figures: those of all models.
    pub(super) fn has_figures(&self) -> bool {
        self.sides.is_empty()
    }
}

/// Runs the command.
'''))
sub('src/cli/probe.rs',('''pub(super) fn run(arguments: &Arguments, report: &mut Report)''','''@@'''))
s=open('src/cli/probe.rs').read()
i=s.index('@@'); j=s.rindex('\n\n',0,i)
s=s[:j]+'''

impl Arguments {
    /// Whether the result has figures: those of matrix instructions.
    pub(super) fn has_figures(&self) -> bool {
        !matches!(sweep::operations(self), Ok(Some(_)))
    }
}'''+s[j:].replace('@@','pub(super) fn run(arguments: &Arguments, report: &mut Report)')
open('src/cli/probe.rs','w').write(s)
