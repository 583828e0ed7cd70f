"""The classes of hostile runs: each makes one run from random numbers and good files."""

import functools
import re
import signal
import subprocess

from .damage import any_bytes, damaged
from .programs import NONE, programs
from .runs import DEVICE, DONE, INTERRUPTED, REFUSED, Run
from .seeds import HALF, INSTRUCTION, SCALED, SPARSE, WHOLE, WRONG, safetensors

CLASSES = {}
# A command of each verb that is quick, needs no file, and is done.
QUICK = {
    "formats": ["formats", "e4m3"],
    "convert": ["convert", "--to", "e4m3", "0.1", "1e9"],
    "calc": ["calc", "--fmt", "f16", "--op", "add", "0x3c00", "0.1"],
    "instructions": ["instructions", "wgmma"],
    "models": ["models", "volta"],
    "devices": ["devices"],
    "probe": ["probe", "--instr", HALF, "--device", "model:volta", "--samples", "20"],
    "record": ["record", "--instr", HALF, "--device", "model:volta", "--tiles", "2", "--out", "made.safetensors"],
    "verify": ["verify", "--instr", HALF, "--device", "model:volta", "--cases", "500"],
    "explain": ["explain", "--instr", HALF, "--model", "volta", "--a", "1,2", "--b", "0.5", "--c", "1"],
    "merge": ["merge", "part-1.json", "part-2.json"],
    "exec-check": ["exec-check", "--instr", HALF, "false"],
    "power": ["power", "--model", "volta", "--instr", HALF, "--cases", "500"],
    "chain": ["chain", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:ampere", "--length", "2", "--chains", "3"],
    "experiment": ["experiment", "chain.toml", "--device", "model:hopper", "--samples", "4"],
}
VIEWS = ["table", "json", "csv", "markdown", "latex"]
OUTPUTS = ["--out", "--plot", "--digests", "--counterexamples", "--folder", "--checkpoint"]
TEXTS = [
    "", " ", "\t", "\n", "-", "--", "nan", "NaN", "inf", "-inf", "-1", "-0", "+1", "0", "1", "2", "3", "1.5", "1e3", "1e-3", "1e400", "0x10", "0b1", "١٢",
    "1_000", "_", "99999999999999999999999999", "-99999999999999999999", "18446744073709551616", "\x1b[31mred", "\u202eabc", "\x07", "é", "𝟙", "日本", "🦀",
    "a\nb", "a\tb", "'", '"', "\\", "$(true)", "`", "%s%n", "../..", "/", ".", "..", "~", "*", "?", "[", "model:", "model:volta", "trace:", "exec:",
    "cuda:0", "cuda:-1", "cuda:99999999999999999999", "cuda:all", "cuda", "cpu", "trace:/dev/zero", "model:/dev/null", "f16", "bf16", "F32", "mxfp4", "e8m0",
    "RZ", "RNE", "SR", "rz", "add", "fma", "multiply", "dot", HALF, SPARSE, SCALED, WHOLE, "mma.*", "mma", "HMMA.16816.F32", "wgmma.m64n8k16.f32.f16.f16",
    "hopper", "Hopper", "volta.toml", "json", "table", "x=y", "=", "=x", "x=", "a=b=c", "1/2", "0/1", "2/1", "1/0", "1/99999999999999999999", "true", "null",
    "{}", "[]", "x" * 300, "x" * 70000, "9" * 5000, "é" * 3000, "0x" + "f" * 3000, "\x1b]0;x\x07" * 500, "1," * 3000, "," * 100, "1,,2", "--help", "-h",
]
BYTES = [b"\xff", b"a\xffb", b"\xc3\x28", b"\xed\xa0\x80"]
NUMBERS = ["1", "2", "3", "7", "16", "100", "0", "-1", "nan", "", "1e2", "10^2", "18446744073709551616", "1.5", "0x10", "65536"]


def hostile(weight):
    """A class; of all runs, `weight` in the sum of all weights."""
    def enter(make):
        CLASSES[make.__name__.replace("_", " ")] = (weight, make)
        return make
    return enter


class World:
    """What the classes draw from."""

    def __init__(self, program, seeds):
        self.seeds = seeds
        self.verbs = list(QUICK)
        shown = subprocess.run([program, "--help"], capture_output=True, check=True, text=True).stdout
        listed = set(re.findall(r"^  ([a-z-]+)  ", shown.split("Commands:")[1].split("Options:")[0], re.MULTILINE)) - {"help"}
        assert listed == set(QUICK), f"QUICK needs a command of each verb: {listed ^ set(QUICK)}"
        self.flags = {verb: self.flags_of(program, verb) for verb in self.verbs}

    @staticmethod
    def flags_of(program, verb):
        """The flags of a verb, and whether each takes a value."""
        shown = subprocess.run([program, verb, "--help"], capture_output=True, check=True, text=True).stdout
        flags = re.findall(r"^ +(?:(-\w), )?(--[a-z-]+)(?: (<.+>))?$", shown, re.MULTILINE)
        assert any(flag == "--output" for _, flag, _ in flags), verb
        return [(flag, bool(value)) for _, flag, value in flags]

    def good(self, r, kind):
        return r.choice(self.seeds[kind])

    def given(self, *kinds):
        """Good files of some kinds by their names."""
        return {name: data for kind in kinds for name, data in self.seeds[kind]}


def base(r, world, verb=None):
    """A quick command and its files."""
    verb = verb or r.choice(world.verbs)
    files = {}
    if verb == "merge":
        files = {name: dict(world.seeds["part"])[name] for name in ("part-1.json", "part-2.json")}
    if verb == "experiment":
        files = {"chain.toml": dict(world.seeds["experiment"])["chain.toml"]}
    outputs = {"made.safetensors"} if verb == "record" else set()
    return verb, list(QUICK[verb]), files, outputs


def text(r):
    return r.choice(BYTES) if r.random() < 0.04 else r.choice(TEXTS)


def view(r, arguments, also=VIEWS):
    given = ["--output", r.choice(also)]
    # What follows its program belongs to that.
    return arguments[:1] + given + arguments[1:] if arguments[0] == "exec-check" else arguments + given


@hostile(3)
def help_and_unknown_verbs(r, world):
    verb = r.choice(world.verbs)
    arguments, statuses = r.choice([
        ([r.choice(["--help", "-h", "--version", "-V", "help"])], {0}),
        ([verb, r.choice(["--help", "-h"])], {0}),
        (["help", verb], {0}),
        ([], {2}),
        ([r.choice([t for t in TEXTS if t.strip("-") and not t.startswith("-h") and t != "--help"])], {2}),
        ([verb.upper()], {2}),
        ([verb, "--" + r.choice([t for t in TEXTS if t and not t.startswith("help")])], DONE | REFUSED),
        (["help", text(r)], DONE | REFUSED),
    ])
    streams, read = "", True
    if statuses == {0} and r.random() < 0.3:
        streams, statuses = r.choice([(">/dev/full", {2}), (">&-", {0}), ("2>&-", {0}), ("2>/dev/full", {0})])
    if r.random() < 0.1:
        read, statuses = False, statuses | {0}
    return Run(arguments, frozenset(statuses), streams=streams, read=read)


@hostile(14)
def hostile_values(r, world):
    """A quick command with hostile values of one or two of its flags."""
    verb, arguments, files, outputs = base(r, world)
    for flag, takes in r.sample(world.flags[verb], r.choice([1, 1, 2])):
        value = text(r)
        if flag in OUTPUTS:
            # Values that name files: made only where the work is done.
            value = r.choice(["o.json", "o/", "", "nowhere/o", "é\n", "x" * 300, "/dev/full", "\x1b[31m", ".", "o" + "/" * 50])
            outputs |= {"o.json", "o/", "é\n/", "\x1b[31m/", "é\n", "\x1b[31m", "o", "o.json/", "nowhere/", f"{HALF}.safetensors"}
            if flag == "--folder":
                # It may stand empty where the device then fails.
                arguments = [a for a in arguments if a not in ("--out", "made.safetensors")]
        if flag == "--help":
            continue
        given = takes and r.random() < 0.9
        # A flag without its value would take the next word for it.
        place = 1 if verb == "exec-check" else r.choice([1, len(arguments)]) if given or not takes else len(arguments)
        arguments[place:place] = [flag, value] if given else [flag]
    return Run(arguments, DONE | REFUSED | DEVICE, files, outputs=frozenset(outputs), kept=frozenset(outputs), patience=6, partial=verb == "calc")


@hostile(8)
def invalid_numbers(r, world):
    """Flags that take numbers, with what is none: always refused, and nothing is done."""
    numbers = {
        "probe": ["--samples", "--max-mismatches", "--seed", "--timeout", "--cases"], "record": ["--tiles", "--samples", "--seed", "--timeout"],
        "verify": ["--cases", "--seed", "--max-mismatches", "--position", "--shard", "--timeout"], "power": ["--cases", "--seed"],
        "explain": ["--tile", "--row", "--column"], "chain": ["--length", "--chains", "--seed", "--timeout"], "calc": ["--limit", "--random-bits"],
        "experiment": ["--samples", "--seed", "--published-samples", "--timeout"], "instructions": ["--timeout"], "convert": ["--random-bits"],
        "exec-check": ["--seed", "--timeout"],
    }
    verb, arguments, files, _ = base(r, world, r.choice(list(numbers)))
    value = r.choice([
        "", " ", "nan", "inf", "-1", "-0.5", "1.5", "1e400", "1e99", "10^99", "0x", "x", "١", "99999999999999999999999", "18446744073709551616",
        "\x1b", "1 ", " 1", "1,2", "--", "é" * 1000, "9" * 4000, "-" + "9" * 4000, b"\xff", "1/", "/1", "0/0", "3/2", "-1/2",
    ])
    arguments[1:1] = [r.choice(numbers[verb]), value]
    return Run(view(r, arguments), REFUSED, files)


@hostile(12)
def any_flags(r, world):
    """Any flags together, some of them repeated, unknown, or without their values."""
    verb, arguments, files, outputs = base(r, world)
    plausible = {
        "--instr": [HALF, SPARSE, SCALED, WHOLE, "mma.m16n8k16.f32.f16.f16.f32", "rtl.toml", "cvt.rn.satfinite.e4m3x2.f32"],
        "--fmt": ["f16", "bf16", "e4m3", "s8", "e2m1", "e4m2.toml"], "--op": ["multiply", "dot", "add", "fma", "convert", "accumulate"],
        "--device": ["model:volta", "model:hopper", "model:cdna3", "trace:half.safetensors", "exec:false", "exec:true", "cuda:0", "model:tree.toml"],
        "--model": ["hopper", "volta", "model:ampere", "tree.toml", "exec:false"], "--against": ["ampere", "hopper"], "--to": ["bf16", "mxfp4", "nvfp4", "f32"],
        "--from": ["f16", "e4m3", "mxfp4"], "--round": ["RZ", "SR", "RO"], "--output": VIEWS, "--input": ["two.safetensors", "c.npy"], "--shard": ["1/2", "2/2"],
        "--trace": ["half.safetensors", "sparse.safetensors", "scaled.safetensors"], "--columns": ["name", "instruction,compared"], "--note": ["a=b", "c=d"],
        "--init": ["low", "fp32"], "--dist": ["special", "corners", "normal"], "--a": ["1,2", "0x3c00"], "--b": ["1"], "--c": ["inf"], "--tensor": ["w", "x"],
        "--exhaustive": ["multiply"], "--tininess": ["before"], "--nan": ["x86", "arm"], "--overflow": ["saturate"], "--scale-rule": ["ceil", "up"],
        "--positions": ["0,1"], "--random": ["ff"],
    }
    names = ["o.json", "o.checkpoint", "o.svg", "o.safetensors", "o/", "."]
    files |= world.given("trace", "instruction", "array") | {k: v for k, v in world.given("model", "format").items() if k in ("tree.toml", "e4m2.toml")}
    for flag, takes in r.choices(world.flags[verb], k=r.randint(1, 7)):
        if flag in ("--help", "--all") and r.random() < 0.9:
            continue
        value = r.choice(names) if flag in OUTPUTS else r.choice(plausible.get(flag, NUMBERS)) if r.random() < 0.9 else text(r)
        given = takes and r.random() < 0.97
        place = 1 if verb == "exec-check" else r.choice([1, len(arguments)]) if given or not takes else len(arguments)
        arguments[place:place] = [flag, value] if given else [flag]
    if r.random() < 0.1:
        arguments.insert(1 if verb == "exec-check" else len(arguments), r.choice(["--unknown", "-x", "extra", "--out=", "--"]))
    # A folder gets a file for each table, or each instruction.
    outputs |= {"o.json", "o.checkpoint", "o.svg", "o.safetensors", "o/"}
    if "." in arguments:
        outputs |= {f"{name}.csv" for name in ("any",)}
        return Run(["formats", "--out", ".", "--output", "json"], REFUSED, files)
    derived = {f"o.{i}.safetensors" for i in plausible["--instr"] + [HALF, "mma.m16n8k8.f32.f16.f16.f32"]}
    return Run(arguments, DONE | REFUSED | DEVICE, files, outputs=frozenset(outputs | derived), kept=frozenset({"o/", "o.checkpoint"}), patience=6,
               partial=verb == "calc")


# Commands that read a file F, with its ending.
READERS = {
    "trace": [["verify", "F"], ["verify", "--device", "trace:F", "--model", "volta"], ["explain", "--trace", "F"], ["power", "F", "--model", "volta"],
              ["probe", "--device", "trace:F", "--instr", HALF, "--samples", "4"], ["verify", "good.safetensors", "F"],
              ["explain", "--trace", "F", "--tile", "1", "--row", "3", "--column", "2", "--against", "ampere"]],
    "array": [["convert", "--input", "F", "--to", "e4m3", "--out", "made.safetensors"], ["convert", "--input", "F", "--to", "mxfp4", "--out", "made.safetensors"],
              ["convert", "--input", "F", "--to", "bf16", "--out", "made.npy"], ["convert", "--input", "F", "--to", "nvfp4", "--out", "made.safetensors"],
              ["convert", "--input", "F", "--from", "e4m3", "--to", "f32", "--out", "made.safetensors"],
              ["convert", "--input", "F", "--to", "f16", "--out", "made.safetensors", "--tensor", "w"]],
    "blocks": [["convert", "--input", "F", "--from", "mxfp4", "--to", "f32", "--out", "made.safetensors"],
               ["convert", "--input", "F", "--from", "mxfp4", "--to", "f32", "--out", "made.npy"],
               ["convert", "--input", "F", "--from", "nvfp4", "--to", "f32", "--out", "made.safetensors"]],
    "model": [["models", "F"], ["models", "F", "--instr", HALF], ["verify", "--instr", HALF, "--device", "model:volta", "--model", "F", "--cases", "300"],
              ["probe", "--instr", HALF, "--device", "model:F", "--samples", "4"], ["explain", "--instr", "mma.m16n8k16.f32.f16.f16.f32", "--model", "F"],
              ["power", "--instr", HALF, "--model", "F", "--cases", "300"], ["verify", "good.safetensors", "--model", "F"],
              ["record", "--instr", HALF, "--device", "model:F", "--tiles", "1", "--out", "made.safetensors"],
              ["explain", "--instr", HALF, "--model", "volta", "--against", "F"]],
    "format": [["formats", "F"], ["calc", "--fmt", "F", "--op", "mul", "1", "0.3"], ["convert", "--to", "F", "0.1", "nan", "1e9"],
               ["convert", "--from", "F", "--to", "f32", "0x1"], ["calc", "--fmt", "f16", "--op", "convert", "--to", "F", "1.1"]],
    "experiment": [["experiment", "F", "--device", "model:hopper", "--samples", "3"], ["experiment", "F", "--device", "model:hopper", "--device", "model:ampere", "--samples", "3"]],
    "checkpoint": [[*WRONG, "--checkpoint", "F"], [*WRONG, "--shard", "1/2", "--checkpoint", "F"], [*WRONG, "--checkpoint", "F", "--seed", "9"],
                   ["verify", "--instr", HALF, "--device", "model:volta", "--cases", "300", "--checkpoint", "F"], ["merge", "F", "--partial"]],
    "part": [["merge", "F"], ["merge", "F", "--partial"], ["merge", "part-1.json", "F"], ["merge", "F", "part-2.json"], ["merge", "1.checkpoint", "F"],
             ["merge", "F", "F"], ["merge", "part-1.json", "part-2.json", "F", "--partial"], ["merge", "F", "part-2.json", "--partial"]],
    "instruction": [["explain", "--instr", "F", "--model", "any.toml"], ["probe", "--instr", "F", "--device", "model:any.toml", "--samples", "3"],
                    ["exec-check", "--instr", "F", "false"], ["verify", "--instr", "F", "--device", "exec:false", "--cases", "10"],
                    ["models", "any.toml", "--instr", "F"], ["record", "--instr", "F", "--tiles", "1", "--out", "made.safetensors", "--device", "model:any.toml"]],
}
ENDINGS = {"trace": ".safetensors", "array": ".npy", "blocks": ".safetensors", "part": ".json", "checkpoint": ".checkpoint"}


def reading(r, kind, name):
    """A command that reads the file `name` of a kind."""
    command = r.choice(READERS[kind])
    return [word.replace("F", name) if word in ("F", "model:F", "trace:F") else word for word in command]


def around(world, kind):
    """The good files beside the one that is damaged."""
    files = {"good.safetensors": dict(world.seeds["trace"])["half.safetensors"]}
    # A model that has a rule for the instructions of the files.
    if kind == "instruction":
        files["any.toml"] = re.sub(rb"instructions = \[[^\]]*\]", b'instructions = ["*"]', dict(world.seeds["model"])["tree.toml"])
    return files | (world.given("part") if kind == "part" else {})


def damaged_file(kind, r, world):
    name, data = world.good(r, kind)
    ending = "." + name.rsplit(".", 1)[-1]
    files = around(world, kind) | {"bad" + ending: damaged(r, name, data)}
    arguments = view(r, reading(r, kind, "bad" + ending), ["table", "json", "json", "csv", "markdown", "latex"])
    kept = {"bad.checkpoint"} if kind == "checkpoint" and "--checkpoint" in arguments else set()
    # A model or an instruction that is understood may be one that the device declines.
    statuses = DONE | REFUSED | (DEVICE if "exec:false" in arguments else frozenset())
    return Run(arguments, statuses, files, outputs=frozenset({"made.safetensors", "made.npy"} | kept), patience=20)


for _kind, _weight in {"trace": 9, "array": 9, "blocks": 3, "model": 10, "format": 5, "experiment": 5, "checkpoint": 6, "part": 6, "instruction": 5}.items():
    CLASSES[f"damaged {_kind}"] = (_weight, functools.partial(damaged_file, _kind))


@hostile(6)
def lines_of_standard_input(r, world):
    kind = r.choice(["expected", "operations"])
    name, data = world.good(r, kind)
    data = damaged(r, name, data) if r.random() < 0.9 else any_bytes(r, data * 500)
    if kind == "expected":
        operation, form = r.choice([("add", "f16"), ("mulAdd", "f32"), ("sqrt", "bf16"), ("eq", "f16"), ("roundToInt", "f64")])
        arguments = ["calc", "--check", "--fmt", form, "--op", operation] + r.choice([[], ["--check-nan"], ["--limit", "0"], ["--limit", "3"]])
    else:
        arguments = r.choice([
            ["calc", "--fmt", "f16", "--op", "add"], ["calc", "--fmt", "e4m3", "--op", "sqrt"], ["convert", "--to", "e4m3"],
            ["convert", "--to", "mxfp4"], ["convert", "--to", "nvfp4"], ["convert", "--from", "f16", "--to", "e8m0"],
            ["convert", "--to", "f64", "--round", "SR", "--random", "7", "--random-bits", "3"],
        ])
    return Run(view(r, arguments), DONE | REFUSED, stdin=data, partial=arguments[0] == "calc")


# What may stand where a file is named, and whether some readers take it.
PLACES = {
    "folder": ("folder", b""), "pipe": ("pipe", b""), "dangling link": ("link", "nowhere"), "circle": ("link", "bad"), "link to zeros": ("link", "/dev/zero"),
    "link to a folder": ("link", "/"), "empty": b"", "huge": ("sparse", 1 << 30), "full": ("link", "/dev/full"), "null": ("link", "/dev/null"),
    "kernel text": ("link", "/proc/version"), "memory": ("link", "/proc/self/mem"), "closed": ("closed", b"x"), "missing": None,
}


@hostile(8)
def places_of_inputs(r, world):
    """Where a file is to be read, there is something else: always refused, at once, and nothing changes."""
    kind = r.choice(list(READERS))
    what = r.choice(list(PLACES))
    ending = ENDINGS.get(kind, ".toml")
    name = "bad" + ending if r.random() < 0.6 else r.choice(["bad é", "bad\nline", "bad\x1b[31m", "x" * 240, "a b", "'q'", "日本"]) + ending
    files = around(world, kind)
    content = PLACES[what]
    if content is not None:
        files[name] = ("link", name) if what == "circle" else content
    else:
        name = r.choice([name, "nowhere/" + name, "good.safetensors/" + name, "x" * 300 + ending, "y/" * 3000 + ending, ending, "./" + ending])
    command = reading(r, kind, name)
    statuses = REFUSED
    if "--checkpoint" in command and what in ("missing", "dangling link", "null"):
        # A checkpoint that is not there is begun.
        statuses |= DONE
        return Run(view(r, command), statuses, files, outputs=frozenset({name, "nowhere", "./" + ending, ending}))
    if "exec:false" in command:
        statuses |= DEVICE
    return Run(view(r, command), statuses, files, unprivileged=what == "closed")


def writing(r, world, name):
    """A command that writes the file `name`, and whether it is JSON."""
    command = r.choice([
        ["formats", "e4m3", "--out", name, "--output", "json"], ["probe", "--instr", HALF, "--device", "model:volta", "--samples", "4", "--out", name],
        ["record", "--instr", HALF, "--device", "model:volta", "--tiles", "1", "--out", name],
        ["convert", "--input", "c.npy", "--to", "e4m3", "--out", name], [*WRONG, "--checkpoint", name], [*WRONG, "--counterexamples", name],
        [*WRONG, "--out", name, "--output", "json"], ["merge", "part-1.json", "part-2.json", "--out", name, "--output", "json"],
        ["chain", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:ampere", "--length", "2", "--chains", "2", "--plot", name],
        ["probe", "--op", "neg", "--fmt", "f16", "--device", "model:hopper", "--cases", "65536", "--digests", name],
    ])
    return command, world.given("part") | {"c.npy": dict(world.seeds["array"])["c.npy"]}


@hostile(8)
def places_of_outputs(r, world):
    """Where a file is to be written, there is something else, or nothing can be written."""
    ending = r.choice([".json", ".safetensors", ".svg", ".npy", ".checkpoint", "", ".csv"])
    what = r.choice(["folder", "dangling link", "circle", "full", "link out", "closed folder", "old", "missing folder", "long", "strange", "file as folder", "closed"])
    name, files, statuses, unprivileged, outputs = "out" + ending, {}, REFUSED, False, set()
    if what == "folder":
        files = {name + "/inner": b"kept"}
    elif what == "dangling link":
        files, statuses, outputs = {name: ("link", "target" + ending)}, DONE | REFUSED, {"target" + ending}
    elif what == "circle":
        files = {name: ("link", name)}
    elif what == "full":
        files, statuses = {name: ("link", "/dev/full")}, DONE | REFUSED
    elif what == "link out":
        files, statuses, outputs = {name: ("link", "nowhere/x")}, REFUSED, set()
    elif what == "closed folder":
        files, name, unprivileged = {"shut": ("closed folder", b"")}, "shut/" + name, True
    elif what == "closed":
        # Replacing takes the permission of the folder alone.
        files, unprivileged, statuses, outputs = {name: ("closed", b"old")}, True, DONE | REFUSED, {name}
    elif what == "old":
        files, statuses, outputs = {name: b"old"}, DONE | REFUSED, {name}
    elif what == "missing folder":
        name = "nowhere/" + name
    elif what == "file as folder":
        name = "c.npy/" + name
    elif what == "long":
        name = r.choice(["x" * 256, "x" * 5000, "y/" * 2100 + "x"])
    else:
        name = r.choice(["é", "日本", "a b", "a\nb", "\x1b[31m", "'", "=1", "-" + "x"]) + ending
        statuses, outputs = DONE | REFUSED, {name}
    command, given = writing(r, world, name)
    if what == "folder" and "--counterexamples" in command:
        # They go into it.
        statuses, outputs = DONE, {f"{name}/{HALF}.safetensors"}
    if what == "full" and "--checkpoint" in command:
        statuses = REFUSED
    if statuses != REFUSED:
        # What follows from the name.
        outputs |= {f"{name.rsplit('.', 1)[0]}.{HALF}.safetensors"}
    return Run(command, statuses, given | files, outputs=frozenset(outputs), unprivileged=unprivileged)


@hostile(6)
def conflicting_outputs(r, world):
    """An output that names an input, or another output: always refused, and nothing changes."""
    files = world.given("part", "trace") | {"c.npy": dict(world.seeds["array"])["c.npy"], "m.toml": dict(world.seeds["model"])["volta.toml"]}
    files |= {"e.toml": dict(world.seeds["experiment"])["chain.toml"], "f.toml": dict(world.seeds["format"])["e3m4.toml"], "rtl.toml": INSTRUCTION}
    files |= {"sub": ("folder", b"")}

    def same(name):
        """Another way to name a file."""
        kind = r.randrange(5)
        if kind == 0:
            files["alias"] = ("link", name)
            return "alias"
        return ["", "./" + name, "sub/../" + name, ".//" + name, name][kind]

    simulated = ["--instr", HALF, "--device", "model:volta"]
    command = r.choice([
        lambda: ["merge", "part-1.json", "part-2.json", "--output", "json", "--out", same("part-1.json")],
        lambda: ["convert", "--input", "c.npy", "--to", "e4m3", "--out", same("c.npy")],
        lambda: ["models", "m.toml", "--out", same("m.toml")],
        lambda: ["formats", "f.toml", "--out", same("f.toml")],
        lambda: ["experiment", "e.toml", "--device", "model:hopper", "--samples", "3", "--out", same("e.toml")],
        lambda: ["verify", "half.safetensors", "--out", same("half.safetensors")],
        lambda: ["verify", "--device", "trace:half.safetensors", "--model", "volta", "--out", same("half.safetensors")],
        lambda: ["explain", "--trace", "half.safetensors", "--out", same("half.safetensors")],
        lambda: ["power", "half.safetensors", "--model", "volta", "--out", same("half.safetensors")],
        lambda: ["verify", "--instr", HALF, "--device", "model:m.toml", "--model", "volta", "--cases", "100", "--out", same("m.toml")],
        lambda: ["verify", *simulated, "--model", "m.toml", "--cases", "100", "--checkpoint", same("m.toml")],
        lambda: ["verify", *simulated, "--cases", "100", "--checkpoint", "o.json", "--out", r.choice(["o.json", "./o.json", "sub/../o.json"])],
        lambda: ["verify", *simulated, "--cases", "100", "--counterexamples", "o.json", "--out", "o.json"],
        lambda: [*WRONG, "--out", "half.json", "--counterexamples", "half.json"],
        lambda: ["chain", "--length", "2", "--chains", "2", "--device", "model:hopper", "--plot", "o.svg", "--out", "./o.svg"],
        lambda: ["record", "--instr", "rtl.toml", "--device", "model:m.toml", "--tiles", "1", "--out", same("rtl.toml")],
        lambda: ["record", "--instr", HALF, "--device", "model:m.toml", "--tiles", "1", "--out", same("m.toml")],
        lambda: ["probe", "--op", "neg", "--fmt", "f16", "--device", "model:hopper", "--cases", "65536", "--digests", "o.x", "--out", "o.x"],
        lambda: ["probe", *simulated, "--model", "m.toml", "--samples", "4", "--out", same("m.toml")],
    ])()
    if "" in command:
        command = [word or "." for word in command]
    return Run(command, REFUSED, files)


@hostile(5)
def derived_outputs(r, world):
    """Files whose names follow from others take the place of nothing that is not of their kind."""
    mine = r.choice([b"mine", b"", safetensors({"w": ("F32", [1], b"\0\0\0\0")}), dict(world.seeds["trace"])["half.safetensors"], b'{"a": 1}', ("folder", b""),
                     ("link", "/dev/null"), ("link", "other")])
    name, command = r.choice([
        (f"q.{HALF}.safetensors", [*WRONG, "--output", "json", "--out", "q.json"]),
        (f"{HALF}.safetensors", ["record", "--instr", HALF, "--device", "model:volta", "--tiles", "1", "--folder", "."]),
        (f"k/{HALF}.safetensors", [*WRONG, "--counterexamples", "k"]),
        ("k/formats.csv", ["formats", "e4m3", "--output", "csv", "--out", "k/"]),
        ("k/verification.csv", [*WRONG, "--output", "csv", "--out", "k"]),
    ])
    files = {name: mine, "other": b"other", "k/other": b"other"}
    return Run(command, REFUSED, files) if mine != dict(world.seeds["trace"])["half.safetensors"] or "record" not in command else Run(
        command, DONE | REFUSED, files, outputs=frozenset({name}))


@hostile(9)
def hostile_programs(r, world):
    shown = programs(r)
    script, statuses = shown[r.choice(list(shown))]
    files = {"p": script.encode(), "e.toml": dict(world.seeds["experiment"])["chain.toml"]}
    device = ["--device", r.choice(["exec:sh p", "exec:'sh' \"p\"", "exec:sh -c '. ./p'"]), "--timeout", "1"]
    instruction = ["--instr", r.choice([HALF, SPARSE, SCALED, WHOLE])]
    command = r.choice([
        ["verify", *instruction, "--cases", "300", *device], ["verify", *instruction, "--cases", "300", *device, "--model", "hopper"],
        ["verify", *instruction, "--cases", "300", *device, "--out", "o.json", "--output", "json"],
        ["verify", *instruction, "--cases", "300", *device, "--checkpoint", "o.checkpoint"],
        ["verify", *instruction, "--cases", "300", *device, *device[:2]],
        ["probe", *instruction, "--samples", "9", *device, "--model", "hopper"], ["record", *instruction, "--tiles", "3", *device, "--out", "o.safetensors"],
        ["record", *instruction, "--tiles", "3", *device, "--folder", "."], ["chain", "--length", "2", "--chains", "3", *device],
        ["experiment", "e.toml", *device], ["verify", *instruction, "--cases", "300", *device, "--available"],
        ["instructions", "m8n8k4", *device], ["exec-check", *instruction, "--timeout", "1", "sh", "p"],
    ])
    if "--available" in command and (DEVICE < statuses or SCALED in command):
        # The instruction that it declines, or that its model lacks, is left out; that nothing was compared is no success.
        statuses |= {1}
    if command[0] == "exec-check":
        statuses = frozenset({0, 1})
    if command[0] == "instructions":
        statuses = DONE | REFUSED | DEVICE
    if command[0] in ("verify", "probe") and not any(w in command for w in ("--model",)):
        # Its model may not cover the instruction.
        statuses |= REFUSED
    if "hopper" in command or SCALED in command or HALF in command or command[0] in ("chain", "experiment"):
        statuses |= REFUSED
    patience = 60 if command[0] in ("exec-check", "instructions") else 25
    return Run(command, statuses | (DONE if DONE <= statuses else frozenset()), files, patience=patience,
               outputs=frozenset({"o.json", "o.safetensors", f"{instruction[1]}.safetensors"}), kept=frozenset({"o.checkpoint"}))


@hostile(3)
def programs_that_are_none(r, world):
    device = r.choice(NONE)
    command = r.choice([
        ["verify", "--instr", HALF, "--cases", "300"], ["verify", "--all", "--available", "--cases", "10"], ["probe", "--instr", HALF, "--samples", "3"],
        ["record", "--instr", HALF, "--tiles", "1", "--out", "o.safetensors"], ["chain", "--length", "2", "--chains", "2"],
        ["probe", "--all", "--available", "--samples", "3"], ["instructions", "wgmma"],
    ])
    return Run([*command, "--device", device, "--timeout", "1"], REFUSED | DEVICE, {"data": b"no program"}, patience=25)


@hostile(8)
def limits(r, world):
    """Little memory, few processes, small files, few files: the work is done, or not, with a message."""
    kind = r.choice(["v", "u", "f", "n"])
    simulated = ["--instr", HALF, "--device", r.choice(["model:volta", "exec:sh -c 'read x; exit 1'"])]
    files = world.given("part") | {"c.npy": dict(world.seeds["array"])["c.npy"], "h.safetensors": dict(world.seeds["trace"])["half.safetensors"]}
    files |= {"o.json": b"old"}
    command = r.choice([
        ["verify", *simulated, "--cases", "3000", "--out", "o.json", "--output", "json"], ["verify", *simulated, "--cases", "3000", "--checkpoint", "o.checkpoint"],
        ["probe", *simulated, "--samples", "50"], ["record", *simulated, "--tiles", "90", "--out", "o.safetensors"],
        ["convert", "--input", "c.npy", "--to", "e4m3", "--out", "o.npy"], ["merge", "part-1.json", "part-2.json", "--output", "json", "--out", "o.json"],
        ["verify", "h.safetensors"], ["explain", "--trace", "h.safetensors"], ["formats"], ["instructions"], ["power", "h.safetensors", "--model", "volta"],
        ["chain", "--length", "2", "--chains", "3", "--plot", "o.svg"], ["exec-check", "--instr", HALF, "false"], ["devices"], [*WRONG, "--out", "o.json", "--output", "json"],
    ])
    value = {"v": r.choice([60, 80, 120, 200, 400, 1000]) * 1000, "u": r.choice([1, 2, 3, 5, 8, 20]), "f": r.choice([0, 1, 2, 8, 40]), "n": r.choice([4, 5, 6, 8, 12])}[kind]
    return Run(command, DONE | REFUSED | DEVICE, files, limits=f"ulimit -{kind} {value} 2> /dev/null || ulimit -p {value};", unprivileged=kind == "u",
               outputs=frozenset({"o.json", "o.safetensors", "o.npy", "o.svg"}),
               # Counterexamples are written before the report, whole.
               kept=frozenset({"o.checkpoint", f"o.{HALF}.safetensors"}))


@hostile(5)
def streams(r, world):
    """Closed, full and abandoned streams."""
    verb, arguments, files, outputs = base(r, world)
    done = {"exec-check": {1}, "merge": {1}, "experiment": {0, 1}, "convert": {0, 1}}.get(verb, {0})
    stream, statuses, deaf, read = r.choice([
        (">&-", done, False, True), ("2>&-", done, True, True), ("<&-", done, False, True), (">/dev/full", {2}, False, True), ("2>/dev/full", done, True, True),
        (">&- 2>&- <&-", done, True, True), (">/dev/full 2>&1", {2}, True, True), ("", done, False, False), ("2>&1", done, True, False), ("</dev/null", done, False, True),
        ("</", done, False, True), (">&- 2>/dev/full", done, True, True), ("0>/dev/null", done, False, True), ("1</dev/null", done | {2}, False, True),
    ])
    if r.random() < 0.3:
        # A refusal says so wherever it can.
        arguments, statuses = arguments + ["--no-such-flag"], {2}
        statuses = {1} if verb == "exec-check" else statuses
        if verb == "exec-check":
            arguments, statuses = arguments[:-1], done | {2}
    wrote = frozenset(outputs)
    return Run(view(r, arguments), frozenset(statuses), files, streams=stream, deaf=deaf, read=read,
               outputs=wrote, kept=wrote if statuses == {2} and "full" in stream and "2>/" not in stream else frozenset())


# Commands that work for long.
LONG = [
    ["verify", "--instr", HALF, "--device", "model:volta", "--cases", "1e10", "--output", "json", "--out", "o.json", "--checkpoint", "o.checkpoint"],
    ["verify", "--instr", HALF, "--device", "model:volta", "--model", "ampere", "--cases", "1e10", "--max-mismatches", "0", "--output", "json", "--out", "o.json"],
    ["verify", "--instr", "mma.m16n8k16.f32.f16.f16.f32", "--device", "model:hopper", "--cases", "1e10", "--output", "json"],
    ["verify", "--all", "--available", "--device", "model:hopper", "--cases", "1e8", "--output", "json"],
    ["probe", "--instr", HALF, "--device", "model:volta", "--samples", "2000000", "--output", "json"],
    ["probe", "--all", "--available", "--device", "model:hopper", "--samples", "30000", "--output", "json", "--out", "o.json"],
    ["probe", "--op", "add", "--fmt", "f16", "--device", "model:hopper", "--cases", "4294967296", "--output", "json"],
    ["record", "--instr", HALF, "--device", "model:volta", "--tiles", "300000", "--out", "o.safetensors"],
    ["record", "--all", "--available", "--device", "model:hopper", "--tiles", "3000", "--folder", "o/"],
    ["chain", "--length", "60", "--chains", "10000", "--device", "model:hopper", "--output", "json", "--plot", "o.svg"],
    ["power", "--model", "hopper", "--instr", "mma.m16n8k16.f32.f16.f16.f32", "--cases", "1e8", "--output", "json"],
    ["experiment", "chain.toml", "--device", "model:hopper", "--samples", "100000", "--output", "json"],
    ["verify", "--instr", HALF, "--device", "exec:sh p", "--cases", "1e6"], ["record", "--instr", HALF, "--device", "exec:sh p", "--tiles", "9", "--out", "o.safetensors"],
    ["exec-check", "--instr", HALF, "sh", "p"], ["instructions", "mma", "--device", "exec:sh p"], ["calc", "--fmt", "f16", "--op", "add"], ["convert", "--to", "e4m3"],
]


@hostile(4)
def signals(r, world):
    """Signals at any time: what is done is kept, whole, and nothing stays behind."""
    number = r.choice([signal.SIGINT, signal.SIGTERM])
    files = {"p": b"read offer\necho '{\"protocol\":2,\"ok\":true}'\nsleep 30", "chain.toml": dict(world.seeds["experiment"])["chain.toml"], "o.json": b"{}"}
    # What has failed was done before the signal.
    return Run(list(r.choice(LONG)), DONE | {2}, files, signal=(number, r.choice([0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 0.6])), partial=True,
               outputs=frozenset({"o.json", "o.safetensors", "o.svg", "o/"}), kept=frozenset({"o.checkpoint", "o/"}), stdin=b"")


@hostile(2)
def killed(r, world):
    """Ended without warning: a file is the old one or the new one, whole."""
    command = r.choice([
        [*WRONG, "--output", "json", "--out", "o.json", "--checkpoint", "o.checkpoint"], list(LONG[0]),
        ["record", "--instr", HALF, "--device", "model:volta", "--tiles", "4000", "--out", "o.safetensors"],
        ["convert", "--input", "w.safetensors", "--to", "e4m3", "--out", "o.safetensors"],
    ])
    numbers = bytes(r.randrange(256) for _ in range(64)) * 20000
    files = {"w.safetensors": safetensors({"w": ("F16", [len(numbers) // 2], numbers)}), "o.json": b"{}"}
    return Run(command, DONE | REFUSED, files, signal=(signal.SIGKILL, r.uniform(0.002, 0.08)), kept=frozenset({"o.checkpoint"}),
               outputs=frozenset({"o.json", "o.safetensors", f"o.{HALF}.safetensors"}), partial=True)
