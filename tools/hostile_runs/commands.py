"""The commands that are attacked, at least one for each verb.

A word that names a good file (files.py) brings that file along. The outputs begin with `o`. `< FILE` gives a file to standard input.
"""

import collections
import dataclasses
import re
import shlex
import subprocess

HALF = "mma.m8n8k4.f16.f16.f16.f16"
SPARSE = "mma.sp.m16n8k16.f16.f16.f16.f16"
SCALED = "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16"
WHOLE = "mma.m16n8k32.s32.s8.s8.s32"
WIDE = "mma.m16n8k16.f32.f16.f16.f32"
INSTRUCTIONS = {"HALF": HALF, "SPARSE": SPARSE, "SCALED": SCALED, "WHOLE": WHOLE, "WIDE": WIDE}

# Quick commands. Each ends with status 0 or 1.
QUICK = """
formats
formats e4m3 --output json --out o.json
formats e3m4.toml --also o.md
formats --output csv --out o/
convert --to e4m3 0.1 1e9
convert --from e3m4.toml --to f32 0x1
convert --to e3m4.toml 0.1 nan 1e9
convert --to mxfp4 < numbers.txt
convert --to f64 --round SR --random 7 --random-bits 3 < numbers.txt
convert --input c.npy --to e4m3 --out o.npy
convert --input two.safetensors --to mxfp4 --out o.safetensors
convert --input two.safetensors --to nvfp4 --out o.safetensors
convert --input blocks.safetensors --from mxfp4 --to f32 --out o.safetensors
inspect nvfp4.safetensors --output json --out o.json
inspect nvfp4.safetensors --layout own.toml --include l*
inspect blocks.gguf blocks.gguf --also o.md
inspect two.safetensors --output csv --out o/
quantise two.safetensors --to e4m3,mxfp4,nvfp4 --scale-rule all --output json --out o.json
quantise c.npy --to e4m3,e2m1 --per row --activations c.npy --plots o/
calc --fmt f16 --op add 0x3c00 0.1
calc --fmt f16 --op convert --to e3m4.toml 1.1
calc --fmt e3m4.toml --op mul 1 0.3 --output json --out o.json
calc --fmt f16 --op add < operands.txt
calc --fmt f16 --op add --check < expected.txt
instructions wgmma --output csv --out o.csv
instructions m8n8k4 --device exec:./device --timeout 20
instructions --conversions e4m3 --isa x86 --output csv --out o.csv
models volta.toml --out o.txt
models tree.toml --output json
models any.toml --instr WIDE
models --keys
devices --output json --out o.json
probe --instr HALF --device model:volta --samples 20 --output json --out o.json --plot o.svg
probe --instr HALF --device model:volta.toml --model ampere --samples 9 --summary
verify --device trace:half.safetensors --model volta.toml
probe --instr HALF --device exec:./device --model hopper --samples 4 --timeout 20
probe --instr rtl.toml --device model:any.toml --samples 3
probe bits --instr mma.m16n8k8.f32.f16.f16.f32 --device model:turing --samples 20 --plot o.svg --output json --out o.json
probe scalar --op neg --fmt f16 --device model:hopper --cases 65536 --digests o.csv
record --instr HALF --device model:volta --tiles 2 --out o.safetensors
record --instr HALF --device 'exec:python3 device' --tiles 2 --folder o --timeout 20
record --instr rtl.toml --device model:any.toml --tiles 1 --out o.safetensors
verify half.safetensors sparse.safetensors --output json --out o.json
verify scaled.safetensors --junit o.xml --sarif o.sarif
verify --instr HALF --device model:volta --model volta.toml --cases 500 --checkpoint o.checkpoint
verify --instr HALF --device model:volta --model ampere --cases 500 --counterexamples o.safetensors --output json --out o.json
verify --instr HALF --device exec:./device --model volta --cases 200 --timeout 20 --output json --out o.json
verify --instr HALF --device exec:./device --model volta --cases 2000 --random-bits 8 --timeout 20 --output json --out o.json
verify --instr HALF --device model:volta --model ampere --cases 1000 --max-mismatches 2 --checkpoint 1.checkpoint --shard 1/2
verify --instr rtl.toml --device model:any.toml --model any.toml --cases 100
explain --instr HALF --model volta.toml --a 1,2 --b 0.5 --c 1 --against ampere
explain --trace half.safetensors --tile 1 --row 3 --column 2 --output json --out o.json
explain --instr rtl.toml --model any.toml --a 1
merge part-1.json part-2.json --output json --out o.json
merge 1.checkpoint part-2.json --partial
exec-check --instr HALF --timeout 20 ./device
exec-check --instr HALF --timeout 20 --output json --out o.json python3 device
power half.safetensors --model volta.toml
power --model volta --instr HALF --cases 500 --output json --out o.json
identify --quick --instr HALF --device model:volta --output json --out o.json
identify --quick --instr HALF --device exec:./device --timeout 20
features --instr HALF --device model:volta.toml
features --instr HALF --device model:volta --device volta.toml --output json --out o.json
identify --device trace:half.safetensors --model-out o.toml --output json --out o.json
identify --device trace:whole.safetensors
survey --instr HALF --device model:volta.toml --cases 1000 --out o
coverage --device trace:half.safetensors --output json --out o.json
coverage --instr HALF --device model:volta --cases 500 --lcov o.info --holes o.safetensors
verify --instr HALF --device model:volta --model volta.toml --cases 500 --regime tie --where 'exponent(a[0]) > 1'
kit --instr HALF --out o.py
distinguish model:volta model:ampere --instr HALF --cases 1000 --output json --out o.json
distinguish model:volta.toml exec:./device --instr HALF --cases 100 --timeout 20
distinguish --instr HALF --plot o.svg
chain --instr mma.m16n8k8.f32.f16.f16.f32 --device model:ampere --length 2 --chains 3 --plot o.svg --output json --out o.json
chain --instr mma.m16n8k8.f32.f16.f16.f32 --device exec:./device --length 1 --chains 1 --timeout 20
tree --instr HALF --device model:volta --dot o.dot --plot o.png --output json --out o.json
tree --instr HALF --device exec:./device --timeout 20
gemm compute --shape 16,8,32 --instr WIDE --device model:hopper --out o.npy --schedule-out o.toml
gemm compute --a x.safetensors:a --b x.safetensors:b --schedule schedule.toml --device model:hopper --quantise --out o.safetensors
gemm compute --a x.safetensors:a --b x.safetensors:b --instr WIDE --device model:hopper --quantise --compare d.npy --output json
gemm match d.npy --a x.safetensors:a --b x.safetensors:b --instr WIDE --model hopper --quantise --apart o.safetensors
gemm between model:hopper model:ampere --instr WIDE --shape 16,8,32 --output json
gemm library --product f16.f16.f16.32f --shape 8,8,8 --output json
bound --instr WIDE --k 64 512 --output json --out o.json
bound --formats f16.f16.f16 --model hopper --k 64
bound --instr WIDE --k 64 512 --write o.py
bound --instr WIDE --shape 16,8,64 --write o.npy --basis expected
bound --instr WIDE --shape 16,8,64 --output-format f16 --output csv --out o/
bound --instr SPARSE --cases 2000 --output json --out o.json
check d.npy --a x.safetensors:a --b x.safetensors:b --quantise --power --tolerance 1e-2,1e-2 --junit o.xml --output json --out o.json
check d.npy --a x.safetensors:a --b x.safetensors:b --quantise --schedule schedule.toml --sarif o.sarif
check d.npy --a x.safetensors:a --b x.safetensors:b --quantise --library cublaslt --bounds o.npy
attention c.npy --q c.npy --k c.npy --v c.npy --causal --junit o.xml --output json --out o.json
attention c.npy --q c.npy --k c.npy --v c.npy --s-format f32 --output csv --out o/
check d.npy --a x.safetensors:a --b x.safetensors:b --quantise --alpha 2 --tolerance cos:0.9 --tolerance share:0.1,1,0 --output json --out o.json
emulate --a x.safetensors:a --b x.safetensors:b --scheme crt-int8-f64:8 --device model:hopper --out o.npy
emulate --choose 1e-9 --size 16 --device model:hopper --output json --out o.json
emulate --size 16 --scheme half.toml --device model:turing --output json --out o.json
emulate --shape 16x8x32 --scheme ootomo --scheme l4-r4 --device model:ampere --plot o.svg
cost --fmt f32 --device cpu --output json --out o.json
experiment chain.toml --device model:hopper --samples 4 --output json --out o.json
diff before.json after.json --output json --out o.json
diff model:volta.toml model:ampere --instr HALF --cases 1000 --junit o.xml
report before.json after.json --out o.html
report part-1.json --out o/
report before.json part-1.json --out o.md
atlas --model volta.toml --instr HALF --out o
completions zsh

manual o
"""

# Commands that work until they are stopped, or for a long time: for signals and limits.
LONG = """
convert --input big.safetensors --to mxfp4 --out o.safetensors
inspect big.safetensors big.safetensors --output json --out o.json
quantise big.safetensors --to e4m3,mxfp4,nvfp4 --scale-rule all --output json --out o.json
calc --fmt f16 --op add
convert --to e4m3
instructions mma --device exec:./device
probe --instr HALF --device model:volta --samples 2000000 --output json
probe --all --available --device model:hopper --samples 30000 --output json --out o.json
probe scalar --op add --fmt f16 --device model:hopper --cases 4294967296 --output json
record --instr HALF --device model:volta --tiles 300000 --out o.safetensors
record --all --available --device model:hopper --tiles 3000 --folder o
record --instr HALF --device exec:./device --tiles 100000 --out o.safetensors
verify --instr HALF --device model:volta --cases 1e10 --output json --out o.json --checkpoint o.checkpoint
verify --instr HALF --device model:volta --model ampere --cases 1e10 --max-mismatches 0 --output json --out o.json
verify --instr HALF --device exec:./device --model volta --cases 1e9 --max-mismatches 0 --output json --out o.json --checkpoint o.checkpoint
verify --all --available --device model:hopper --cases 1e8 --output json
exec-check --timeout 20 ./device
power --model hopper --instr WIDE --cases 1e8 --output json --out o.json
identify --instr WIDE --device model:hopper --from-nothing --cases 1e10 --model-out o.toml --output json --out o.json
features --all --device model:hopper --output json --out o.json
identify --instr HALF --device exec:./device --model-out o.toml --output json --out o.json
distinguish --all --output json --out o.json
distinguish model:volta exec:./device --instr HALF --cases 1e8 --output json
chain --length 60 --chains 10000 --device model:hopper --output json --plot o.svg
chain --instr mma.m16n8k8.f32.f16.f16.f32 --device exec:./device --length 60 --chains 1000 --output json --out o.json
tree --all --available --device model:hopper --output json --out o.json
tree --instr mma.m16n8k16.f32.bf16.bf16.f32 --device exec:./device --output json
gemm compute --shape 512,512,4096 --instr WIDE --device model:hopper --out o.npy
gemm between model:hopper model:ampere --instr WIDE --shape 64,64,4096 --output json --out o.json
gemm match d.npy --a x.safetensors:a --b x.safetensors:b --quantise --output json --also o.json
bound --instr WIDE --cases 1e10 --output json --out o.json
bound --instr WIDE --k 1048576 --output json --out o.json
emulate --size 1024 --device model:ampere --output json --out o.json
emulate --size 1024 --device model:ampere --plot o.svg
cost --all --device cpu --sustain 60 --output json --out o.json
experiment chain.toml --device model:hopper --samples 100000 --output json --out o.json
diff model:hopper model:blackwell --all --output json --out o.json
survey --device model:volta --cases 1000 --out o
report --paper --device model:volta --out o/
"""

# Whether these succeed depends on the machine.
BY_MACHINE = {"cost", "gemm library"}


@dataclasses.dataclass(frozen=True)
class Command:
    """A command of a verb: the words after the program's name, and the file given as standard input."""

    words: tuple
    stdin: str = None

    @classmethod
    def parsed(cls, line):
        words = [INSTRUCTIONS.get(word, word) for word in shlex.split(line)]
        if "<" in words:
            return cls(tuple(words[:-2]), words[-1])
        return cls(tuple(words))


@dataclasses.dataclass(frozen=True)
class Flag:
    """A flag of a verb as its help describes it."""

    name: str
    value: str
    # The words that the help lists as its values.
    words: tuple
    output: bool


def commands(text, verbs):
    """Parses the commands in a text, one a line; returns them by verb, or by verb and subcommand."""
    found = collections.defaultdict(list)
    for line in filter(None, text.split("\n")):
        command = Command.parsed(line)
        nested = " ".join(command.words[:2])
        found[nested if nested in verbs else command.words[0]].append(command)
    return found


def said(program, *words):
    return subprocess.run([program, *words], capture_output=True, check=True, text=True).stdout


def verbs(program):
    """Returns every verb of the program, and every subcommand with its verb."""
    script = said(program, "completions", "bash")
    verbs = [verb for verb in re.findall(r"^ *tcnum,([a-z-]+)\)$", script, re.MULTILINE) if verb != "help"]
    nested = [f"{verb} {own}" for verb, own in re.findall(r"^ *tcnum__subcmd__([a-z]+),([a-z-]+)\)$", script, re.MULTILINE) if verb != "help"]
    # A verb that only has subcommands is no command.
    return [verb for verb in verbs + nested if not re.search(r"^Usage: .*<COMMAND>", said(program, *verb.split(), "--help"), re.MULTILINE)]


def examples(program, verb):
    """Returns the examples in the help of a verb. They are attacked if the lists above have no command of that verb."""
    lines = re.findall(r"^ *(?:Example: )?tcnum ([^<\n]+)$", said(program, *verb.split(), "--help"), re.MULTILINE)
    return [Command.parsed(line.split(" > ")[0]) for line in lines]


def flags(program, verb):
    """Reads the flags of a verb from its help."""
    found = []
    # A flag begins a part of the help; its description and its values follow.
    for part in re.split(r"\n(?= {2,6}-)", said(program, *verb.split(), "--help"))[1:]:
        part = " ".join(part.partition("\nExample")[0].split())
        name = re.search(r"--[a-z-]+", part)
        value = re.search(r"--[a-z-]+ <(.+?)>", part)
        if not name or name[0] == "--help":
            continue
        kind = value[1] if value else ""
        writes = re.search(r"\b([Ww]rite|[Dd]raw|Keep)\b", part) and re.search("FILE|FOLDER", kind)
        listed = re.search(r"\[possible values: (.+?)\]", part)
        words = listed[1].split(", ") if listed else re.findall(r" - ([\w.-]+):", part)
        found.append(Flag(name[0], kind, tuple(words), bool(writes) or name[0] == "--out"))
    return found
