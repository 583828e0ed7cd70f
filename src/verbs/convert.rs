//! `tcnum convert`: values, codes or whole files of one format into another.

use std::{
    io::BufReader,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    OutputDestination, Verb,
    progress::{Bar, Progress},
    rounding::{self, RoundingFlags},
    shared::{Exclude, Include, SeedIfGiven, with_default},
};
use crate::{
    Error, Result,
    array::Container,
    base::{
        input::{StandardInput, each_word, room_for_a_row},
        interrupt,
    },
    checkpoint::Layout,
    convert::{FileConversion, TargetRecipe, in_blocks, value},
    format::block::{BlockFormat, Quantizer, find_rule},
    format::{Format, Overflow, Rounding, find},
    quantise::shared,
    report::{Report, Verdict},
    tensor::{ArrayNames, ConversionTarget, FileContent, Plan, Recipe, TensorChoice, ValueConversion, ValueRead, read},
};

const HELP: &str = "Examples:
  tcnum convert --to e4m3 --round RZ 0.1 1e9 -448
  tcnum convert --from bf16 --to e5m2 0x3f80 0x7f80
  tcnum convert --to mxfp4 1 -2.5 0.1 7
  tcnum convert --to nvfp4 --layout compressed-tensors --input model/ --out quantised/
More: docs/numbers.md, docs/quantise.md";

/// Converts values, codes or files of arrays to another format, with the errors.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
#[command(mut_arg("include", |option| with_default(option, "weights, up to 8 bits")))]
#[command(mut_args(|option| match option.get_id().as_str() {
    "include" | "exclude" => option.requires("input").conflicts_with("tensors"),
    "seed" => option.requires("input"),
    _ => option,
}))]
pub(super) struct Arguments {
    /// Format of given codes; other values are first rounded to it
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// Format or block format of the result; f32 for a file of blocks
    #[arg(long, value_name = "FORMAT", required_unless_present = "input", conflicts_with = "plan")]
    to: Option<String>,
    #[command(flatten)]
    rounding: RoundingFlags,
    /// Values that share a scale in a file: 1x32, 128x128, row, tensor
    #[arg(long, value_name = "WHAT", requires = "input", conflicts_with = "plan", help_heading = "What")]
    per: Option<String>,
    /// Layout of the arrays: compressed-tensors, gguf, modelopt and others
    #[arg(long, value_name = "LAYOUT", requires = "input", help_heading = "What")]
    layout: Option<String>,
    /// Rule for scales: floor, absmax, mse and others [default: the format's]
    #[arg(long, value_name = "RULE", conflicts_with = "plan", help_heading = "What")]
    scale_rule: Option<String>,
    /// Scale of the tensor (nvfp4) [default: largest magnitude / 2688]
    #[arg(long, value_name = "SCALE", help_heading = "What")]
    tensor_scale: Option<f32>,
    /// Values: numbers or codes [default: standard input]
    #[arg(value_name = "VALUES", help_heading = "Inputs")]
    values: Vec<String>,
    /// File or folder whose arrays are converted to --out
    #[arg(long, value_name = "FILE", conflicts_with = "values", requires = "out", help_heading = "Inputs")]
    input: Option<PathBuf>,
    /// Format of each tensor, as quantise writes it [by --plan-out]
    #[arg(long, value_name = "FILE", requires = "input", conflicts_with_all = ["include", "tensors", "tensor_scale"], help_heading = "Inputs")]
    plan: Option<PathBuf>,
    /// Most bytes of a file, if --out is a folder: 5GB, 500MB [default: all]
    #[arg(long, value_name = "SIZE", requires = "input", value_parser = file_size, help_heading = "Output")]
    shard_size: Option<u64>,
    /// Array of the file to convert, alone; may be repeated
    #[arg(long = "tensor", value_name = "NAME", requires = "input", help_heading = "Inputs")]
    tensors: Vec<String>,
    #[command(flatten)]
    include: Include,
    #[command(flatten)]
    exclude: Exclude,
    #[command(flatten)]
    seed: SeedIfGiven,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn makes_file(&self) -> bool {
        self.input.is_some()
    }
}

/// The report of `tcnum convert`.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let from = arguments.from.as_deref().map(FileContent::named).transpose()?;
    let to = arguments.to.as_deref().map(FileContent::named).transpose()?;
    if let Some(input) = &arguments.input {
        return files(arguments, input, [from, to], report);
    }
    let from = match from {
        Some(FileContent::Blocks(format)) => {
            return Err(Error::request(format!(
                "values cannot be codes of {format}; read blocks from a file, by --input"
            )));
        }
        Some(FileContent::Scalar(format)) => format,
        None => None,
    };
    match to {
        Some(FileContent::Blocks(format)) => blocks(arguments, from, format, report),
        Some(FileContent::Scalar(Some(format))) => scalars(arguments, from, format, report),
        _ => Err(Error::request("--to is missing: the format to convert to")),
    }
}

fn scalars(
    arguments: &Arguments,
    from: Option<&'static Format>,
    to: &'static Format,
    report: &mut Report,
) -> Result<()> {
    refuse_block_flags(arguments, to)?;
    let (rounding, overflow) = (arguments.rounding.rounding()?, arguments.rounding.overflow);
    let conversion = ValueConversion { from, to, rounding, overflow };
    let mut rows = Vec::new();
    let outcome = each_value(arguments, from, |value| rows.push(value::row(&conversion, &value)));
    report.holds = rows.iter().all(|row| row.code.is_some());
    report.verdict = Verdict::WithoutCode;
    report.answer = value::answer(&conversion, &rows);
    report.tables.push(value::table(&conversion, rows));
    outcome
}

fn blocks(
    arguments: &Arguments,
    from: Option<&'static Format>,
    format: &'static BlockFormat,
    report: &mut Report,
) -> Result<()> {
    let quantizer = quantizer(arguments, format)?;
    let mut values = Vec::new();
    let outcome = each_value(arguments, from, |value| values.push(value));
    if !values.is_empty() {
        let (answer, tables) = in_blocks(&quantizer, &values);
        report.answer = Some(answer);
        report.tables.extend(tables);
    }
    outcome
}

/// The quantizer that the flags describe.
fn quantizer(arguments: &Arguments, format: &'static BlockFormat) -> Result<Quantizer> {
    quantizer_by(arguments, format, arguments.scale_rule.as_deref())
}

/// The quantizer that the flags describe, by this rule.
fn quantizer_by(arguments: &Arguments, format: &'static BlockFormat, rule: Option<&str>) -> Result<Quantizer> {
    let standard = Quantizer::new(format);
    let rule = rule.map(find_rule).transpose()?.unwrap_or(standard.rule);
    if let Some(why) = rule.refusal(format) {
        return Err(Error::request(format!("--scale-rule {why}")));
    }
    if !matches!(arguments.rounding.overflow, Overflow::Standard | Overflow::Saturate) {
        return Err(Error::request(format!("elements of {format} saturate; --overflow is for other formats")));
    }
    if let (Some(_), Rounding::Sr { .. }) = (format.offset, arguments.elements()?) {
        return Err(Error::request(format!("--round SR: {format} has offsets, whose elements are rounded to nearest")));
    }
    match arguments.tensor_scale {
        Some(_) if format.tensor_scale.is_none() => {
            return Err(Error::request(format!("{format} has no scale of the tensor; --tensor-scale is for nvfp4")));
        }
        Some(scale) if !(scale.is_finite() && scale > 0.0) => {
            return Err(Error::request(format!("--tensor-scale {scale}: expected a positive number of f32")));
        }
        _ => {}
    }
    Ok(Quantizer { rule, rounding: arguments.elements()?, tensor_scale: arguments.tensor_scale, ..standard })
}

impl Arguments {
    /// The target with the blocks that `--per` names.
    fn shared(&self, to: Option<FileContent>) -> Result<Option<FileContent>> {
        match (&self.per, to) {
            (Some(per), Some(to)) => shared(to, per).map(Some),
            (_, to) => Ok(to),
        }
    }

    /// Names of the arrays of a target: those of the layout, or of the types of a GGUF file.
    fn names(&self, to: &ConversionTarget) -> Result<ArrayNames> {
        let gguf = self
            .destination
            .out
            .as_deref()
            .is_some_and(|out| Container::of(out).is_ok_and(|kind| kind == Container::Gguf));
        match (self.layout.as_deref().or(gguf.then_some("gguf")), to.block()) {
            (None, _) => Ok(ArrayNames::default()),
            (Some(name), Some(format)) => {
                let names = Layout::names_for(name, format)?;
                match names.inside.is_some() == gguf {
                    true => Ok(names),
                    false if gguf => Err(Error::request(format!("--layout {name}: a .gguf file has the layouts gguf"))),
                    false => Err(Error::request(format!(
                        "--layout {name}: its blocks lie in a .gguf file; name one by --out"
                    ))),
                }
            }
            (Some(_), None) if gguf && self.layout.is_none() => Ok(ArrayNames::default()),
            (Some(name), None) => {
                Layout::check_name(name)?;
                Err(Error::request(format!(
                    "--layout {name}: it has scales, and {} has none; choose a block format, or --per",
                    to.name()
                )))
            }
        }
    }

    /// The rounding; SR draws random bits for each element of a file; values use the given bits.
    fn elements(&self) -> Result<Rounding> {
        match self.input {
            Some(_) => rounding::of_elements(&self.rounding.round),
            None => self.rounding.rounding(),
        }
    }
}

fn refuse_block_flags(arguments: &Arguments, to: &Format) -> Result<()> {
    match arguments.scale_rule.is_some() || arguments.tensor_scale.is_some() {
        true => {
            Err(Error::request(format!("--scale-rule and --tensor-scale are for block formats; {to} has no scale")))
        }
        false => Ok(()),
    }
}

/// Calls `work` with each value of the command line, once all are read, or else of standard input.
fn each_value(arguments: &Arguments, from: Option<&Format>, mut work: impl FnMut(ValueRead)) -> Result<()> {
    if !arguments.values.is_empty() {
        let numbered = arguments.values.iter().enumerate();
        let value = |(i, text): (usize, &String)| read(from, text).map_err(|e| e.within(format!("value {}", i + 1)));
        let values = numbered.map(value).collect::<Result<Vec<_>>>()?;
        return values.into_iter().try_for_each(|value| interrupt::check().map(|()| work(value)));
    }
    let mut count = 0;
    each_word(BufReader::new(StandardInput), |word| {
        room_for_a_row(count, "--input converts files of any size")?;
        work(read(from, word)?);
        count += 1;
        Ok(())
    })?;
    match count {
        0 => Err(Error::request("there is no value to convert; give some on the command line or on standard input")),
        _ => Ok(()),
    }
}

/// Converts the file at `input` to the one that --out names.
fn files(arguments: &Arguments, input: &Path, [from, to]: [Option<FileContent>; 2], report: &mut Report) -> Result<()> {
    if arguments.rounding.random.is_some() {
        return Err(Error::request(
            "--random would round all values of a file alike; --round SR draws random bits for each from --seed, so omit --random",
        ));
    }
    let recipes = arguments.plan.as_deref().map(|path| recipes(arguments, path)).transpose()?.unwrap_or_default();
    let to = match (from, arguments.shared(to)?) {
        _ if !recipes.is_empty() => recipes[0].to,
        (_, Some(FileContent::Blocks(format))) => ConversionTarget::Blocks(quantizer(arguments, format)?),
        (_, Some(FileContent::Scalar(Some(format)))) => scalar(arguments, format)?,
        (Some(FileContent::Blocks(_)), _) => scalar(arguments, find("f32")?)?,
        _ => return Err(Error::request("--to is missing: the format to convert to")),
    };
    let names = match recipes.first() {
        Some(recipe) => recipe.layout.clone(),
        None => arguments.names(&to)?,
    };
    let output = arguments.destination.out.as_deref().ok_or_else(|| Error::request("--input needs --out FILE"))?;
    let conversion = FileConversion {
        from: from.unwrap_or(FileContent::Scalar(None)),
        to,
        names: arguments.tensors.clone(),
        choice: TensorChoice {
            include: match recipes.is_empty() {
                true => arguments.include.to_vec(),
                false => recipes.iter().flat_map(|target| target.recipe.tensors.clone()).collect(),
            },
            exclude: arguments.exclude.to_vec(),
        },
        layout: names,
        recipes,
        shard_bytes: arguments.shard_size,
        seed: arguments.seed.unwrap_or(0),
    };
    report.seed = matches!(arguments.elements()?, Rounding::Sr { .. }).then_some(conversion.seed);
    let progress = Progress::new(&arguments.destination);
    let mut bar = None;
    let (file, notes) = conversion.source(input)?;
    let converted = conversion.run_on(&file, input, output, &mut |done, total| {
        bar.get_or_insert_with(|| Bar::new(&progress, "values", total, 0, 1)).show(done, 0);
    })?;
    report.notes.extend(notes);
    conversion.report(converted, report);
    Ok(())
}

/// The targets of a plan.
fn recipes(arguments: &Arguments, path: &Path) -> Result<Vec<TargetRecipe>> {
    let target = |recipe: Recipe| -> Result<TargetRecipe> {
        let to = FileContent::named(&recipe.to)?;
        let to = recipe.per.as_deref().map_or(Ok(to), |per| shared(to, per))?;
        let to = match to {
            FileContent::Blocks(format) => {
                ConversionTarget::Blocks(quantizer_by(arguments, format, recipe.scale_rule.as_deref())?)
            }
            FileContent::Scalar(format) => scalar(arguments, format.expect("a name names a format"))?,
        };
        let layout = if to.block().is_some() { arguments.names(&to)? } else { ArrayNames::default() };
        Ok(TargetRecipe { recipe, to, layout })
    };
    let within = |error: Error| error.within(path.display());
    let all = Plan::read(path)?.recipes.into_iter().map(target).collect::<Result<Vec<_>>>().map_err(within)?;
    let (first, rest) = all.split_first().expect("a plan has recipes");
    let differs = |other: &TargetRecipe| other.to.block() != first.to.block() || other.to.name() != first.to.name();
    if first.layout.layout.is_none() && rest.iter().any(differs) {
        let what = "its formats need a layout: --layout compressed-tensors, or --out FILE.gguf";
        return Err(within(Error::request(what)));
    }
    Ok(all)
}

/// Parses a number of bytes, with kB, MB, GB or KiB, MiB, GiB.
fn file_size(text: &str) -> std::result::Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("", 1),
    ];
    let parsed = UNITS.iter().find_map(|(unit, bytes)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(*bytes).filter(|all| *all > 0)
    });
    parsed.ok_or_else(|| "expected a number of bytes, such as 5GB or 500MB".into())
}

fn scalar(arguments: &Arguments, format: &'static Format) -> Result<ConversionTarget> {
    refuse_block_flags(arguments, format)?;
    let rounding = arguments.elements()?;
    Ok(ConversionTarget::Scalar { format, rounding, overflow: arguments.rounding.overflow })
}
