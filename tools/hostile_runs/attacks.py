"""Attacks: each makes one run of a command from random numbers and valid files."""

import os
import re
import signal
import threading

from . import commands, devices, large, rules
from .damage import damaged
from .runs import Run

# Words that no flag expects, and a few that some flags accept.
TEXTS = [
    "", " ", "\t", "\n", "-", "--", "nan", "inf", "-inf", "-1", "-0", "+1", "0", "1", "2", "3", "1.5", "1e3", "1e-3", "1e400", "10^99", "0x10", "0b1", "١٢",
    "1_000", "_", "9" * 26, "-" + "9" * 20, "18446744073709551616", "9223372036854775807", "4294967296", "65536", "\x1b[31mred", "\u202eabc", "\x07", "é", "𝟙",
    "日本", "🦀", "a\nb", "a\tb", "'", '"', "\\", "$(true)", "`", "%s%n", "*", "?", "[", "~", ".", "f16", "bf16", "F32", "mxfp4", "e8m0", "RZ", "SR", "rz",
    "add", "fma", "dot", *commands.INSTRUCTIONS.values(), "mma.*", "mma", "HMMA.16816.F32", "gemm.m4n4k64.f32", "gemm.m999999999n1k1.f64", "hopper", "volta.toml",
    "json", "x=y", "=", "=x", "x=", "1/2", "0/1", "2/1", "1/0", "1/" + "9" * 20, "1,2", "1,,2", ",", "1x128", "0x0", "99999x99999x99999", "16,8,0", "true", "null",
    "{}", "[]", "x" * 300, "x" * 70000, "9" * 5000, "é" * 3000, "0x" + "f" * 3000, "\x1b]0;x\x07" * 500, "1," * 3000, "--help", "-h", "uniform(-1,1)",
    "normal(0,1e400)", "magnitudes(9,-9)", "--no-such-flag", b"\xff", b"a\xffb", b"\xc3\x28", b"\xed\xa0\x80",
]
# Names of outputs, none of which leaves the folder.
OUTPUTS = ["o.json", "o/", "o.svg", "o.pdf", "o.html", "o", "nowhere/o", "é\n", "x" * 300, "y/" * 3000 + "o", "\x1b[31m", "o" + "/" * 50, "=1", "a b", "日本.json"]
# What may stand where a file is to be read.
PLACES = {
    "folder": ("folder", b""), "pipe": ("pipe", b""), "dangling link": ("link", "nowhere"), "link to zeros": ("link", "/dev/zero"), "link to a folder": ("link", "/"),
    "empty": b"", "huge": ("sparse", 1 << 31), "full": ("link", "/dev/full"), "null": ("link", "/dev/null"), "memory": ("link", "/proc/self/mem"),
    "closed": ("closed", b"x"), "missing": None, "circle": "circle",
}
VIEWS = ["table", "json", "csv", "markdown", "latex"]
THREADS = ["0", "-1", "1", "3", "64", "3000", "20000", "1000000000", "18446744073709551616", "", "x", "1.5"]
ATTACKS = {}


def attack(weight):
    """An attack, with its weight among the attacks that a verb allows; one of weight 0 is made only if it is named."""
    def enter(make):
        ATTACKS[make.__name__.replace("_", " ")] = (weight, make)
        return make
    return enter


class World:
    """The commands and files that attacks draw from. Raises an error if a verb of the program has no command."""

    def __init__(self, program, files):
        self.files = files
        self.verbs = commands.verbs(program)
        self.quick, self.long = (commands.commands(text, self.verbs) for text in (commands.QUICK, commands.LONG))
        for verb in self.verbs:
            if verb not in self.quick:
                self.quick[verb] = commands.examples(program, verb)
            if not self.quick[verb]:
                raise SystemExit(f"error: the verb `{verb}` is not attacked; its help has no example, and QUICK in tools/hostile_runs/commands.py no command")
        for verb in {*self.quick, *self.long} - {*self.verbs}:
            raise SystemExit(f"error: the program has no verb `{verb}`; remove its commands from tools/hostile_runs/commands.py")
        self.flags = {verb: commands.flags(program, verb) for verb in self.verbs}
        self.program, self.lock = program, threading.Lock()
        self.large = commands.commands(large.COMMANDS, self.verbs)
        if missing := {*self.verbs} - {*self.large, *large.AT_ONCE}:
            raise SystemExit(f"error: {', '.join(sorted(missing))}: no large input; add one to tools/hostile_runs/large.txt")

    def inputs(self, words):
        """Returns the valid files that the words name."""
        parts = [part for word in words if isinstance(word, str) for part in re.split(r"[\s:,/'\"]+", word)]
        return [name for name in dict.fromkeys(parts) if name in self.files]

    def run(self, command, arguments=None, files=(), **more):
        """Makes a run of a command, with other arguments or with some of its files replaced if given."""
        arguments = list(command.words) if arguments is None else arguments
        given = {name: self.files[name][0] for name in self.inputs([*command.words, *arguments, command.stdin])}
        if "device" in given:
            given["device"] = ("program", given["device"])
        given |= dict(files)
        stdin = given.pop(command.stdin, b"")
        return Run(arguments, files={name: content for name, content in given.items() if content is not None}, stdin=stdin, **more)

    def draw(self, r, verb, allowed=lambda command: True, long=False):
        """Picks a command of the verb that the attack applies to, or returns None."""
        found = [command for command in self.quick[verb] + self.long[verb] * long if allowed(command)]
        return r.choice(found) if found else None


def with_flag(arguments, *words):
    """Adds a flag to the arguments. Flags of exec-check must precede its program."""
    at = 1 if arguments[0] == "exec-check" else len(arguments)
    return arguments[:at] + list(words) + arguments[at:]


def is_device(word):
    return isinstance(word, str) and bool(re.match(r"(model|exec|trace|cuda):|cpu$", word))


def is_output(word):
    return isinstance(word, str) and bool(re.match(r"o($|/|\.\w+$)", word))


@attack(1)
def unharmed(r, world, verb):
    """Runs the command unchanged. It must succeed, which shows that failures of other runs come from their attacks."""
    command = world.draw(r, verb)
    return world.run(command, statuses=frozenset({0, 1, 2}) if verb in commands.BY_MACHINE else frozenset({0, 1}), patience=600)


@attack(8)
def arguments(r, world, verb):
    """Inserts hostile words, repeats or drops words, or combines flags at random."""
    command = world.draw(r, verb)
    words = list(command.words)
    for _ in range(r.choice([1, 1, 1, 2, 3, 6])):
        at = r.randrange(1, len(words)) if len(words) > 1 else 0
        # Words that name outputs stay inside the folder.
        text = r.choice(OUTPUTS if at and (is_output(words[at]) or verb == "manual") else TEXTS)
        kind = r.randrange(10)
        if kind < 2 and at:
            words[at] = text
        elif kind == 2 and at and not any(map(is_output, words)):
            del words[at]
        elif kind == 3 and at and verb != "manual":
            words[at:at] = [r.choice([words[at], text])]
        elif kind == 4:
            words = r.choice([words[:1], ["help", *words[:1]], [words[0].upper(), *words[1:]], [words[0], "--help"], [*words, "--"]])
        elif world.flags[verb]:
            flag = r.choice(world.flags[verb])
            good = list(flag.words) + [w for c in world.quick[verb] for f, w in zip(c.words, c.words[1:]) if f == flag.name]
            value = r.choice(OUTPUTS) if flag.output else r.choice(good) if good and r.random() < 0.4 else r.choice(TEXTS)
            words = with_flag(words, flag.name, *[value] * bool(flag.value)) if r.random() < 0.95 else [*words, flag.name]
    return world.run(command, words)


@attack(8)
def damage(r, world, verb):
    """Damages, truncates or exchanges a file that the command reads."""
    command = world.draw(r, verb, lambda c: set(world.inputs([*c.words, c.stdin])) - {"device"})
    if not command:
        return None
    name = r.choice([name for name in world.inputs([*command.words, command.stdin]) if name != "device"])
    run = world.run(command, files={name: damaged(r, name, r.choice(world.files[name]))}, about=f"{name} is damaged")
    return viewed(r, world, verb, run)


def viewed(r, world, verb, run):
    """Adds a flag that selects a view of the result, if the verb has views."""
    if "--output" not in run.arguments and any(flag.name == "--output" for flag in world.flags[verb]):
        run.arguments = with_flag(run.arguments, "--output", r.choice(VIEWS))
    return run


@attack(4)
def places_of_inputs(r, world, verb):
    """Puts something other than a regular file where a file is to be read."""
    command = world.draw(r, verb, lambda c: world.inputs(c.words))
    if not command:
        return None
    name, place = r.choice(world.inputs(command.words)), r.choice(list(PLACES))
    return world.run(command, files={name: ("link", name) if place == "circle" else PLACES[place]}, about=f"{name} is: {place}")


@attack(4)
def places_of_outputs(r, world, verb):
    """Puts something other than a regular file, or nothing writable, where a file is to be written."""
    command = world.draw(r, verb, lambda c: any(map(is_output, c.words)), long=r.random() < 0.1)
    if not command:
        return None
    words = list(command.words)
    at = r.choice([i for i, word in enumerate(words) if is_output(word)])
    folder, dot, ending = words[at].partition(".")
    name = folder.strip("/") + dot + ending
    place = r.choice(["within", "another name", "folder", "closed", "old", "pipe", "link to target", f"link to {name}", "link to /dev/full", "link to nowhere/x"])
    if place == "within":
        outer = r.choice(["shut", "file"])
        words[at], files = f"{outer}/{name}", {outer: ("closed folder", b"") if outer == "shut" else b"x"}
    elif place == "another name":
        words[at] = r.choice(["/dev/full", "nowhere/" + name, *[x + dot + ending for x in ("x" * 256, "y/" * 2100, "é", "a\nb", "\x1b[31m", "'", "=1", "-x")]])
        files = {}
    elif place == "folder":
        files = {name + "/inner": b"kept"}
    else:
        kind, _, target = place.partition(" to ")
        files = {name: (kind, target if target else b"")}
    return world.run(command, words, files=files, replaceable=frozenset({name, "target"}), about=f"{name} is: {place}")


@attack(4)
def conflicts(r, world, verb):
    """Names an input, a word of an exec: program or another output as an output. It must always be refused."""
    flags = [flag.name for flag in world.flags[verb] if flag.output and "FILE" in flag.value]
    if not flags:
        return None
    command, flag = world.draw(r, verb), r.choice(flags)
    words = list(command.words)
    if flag in words:
        del words[words.index(flag):words.index(flag) + 2]
    names = world.inputs(words) + [word for word in words if is_output(word) and "." in word]
    if not names:
        return None
    name = r.choice(names)
    other = r.choice([name, "./" + name, "sub/../" + name, ".//" + name, "alias"])
    return world.run(command, with_flag(words, flag, other), files={"sub": ("folder", b""), "alias": ("link", name)}, statuses=frozenset({2}))


@attack(8)
def hostile_devices(r, world, verb):
    """Names a device that breaks the exec protocol, gives wrong answers, is slow or dies, or names no device."""
    command = world.draw(r, verb, lambda c: any(is_device(word) or word in ("./device", "device") for word in c.words), long=r.random() < 0.1)
    if not command:
        return None
    words, what, files = list(command.words), "", {"any.toml": world.files["any.toml"][0], "c.npy": world.files["c.npy"][0]}
    places = [i for i, word in enumerate(words) if is_device(word)]
    if places and r.random() < 0.25:
        words[r.choice(places)] = r.choice(devices.NONE + devices.OTHERS)
    else:
        what, text = devices.broken(r, world.files["device"][0])
        files["device"] = ("program", text)
        if places and not any("exec:" in words[i] for i in places):
            words[r.choice(places)] = r.choice(["exec:./device", "exec:'./device'", "exec:sh -c ./device"])
    if "--timeout" in words:
        words[words.index("--timeout") + 1] = r.choice(["1", "2"])
    elif any(flag.name == "--timeout" for flag in world.flags[verb]):
        words = with_flag(words, "--timeout", "1")
    return world.run(command, words, files=files, about=f"the device: {what}" * bool(what))


@attack(4)
def limits(r, world, verb):
    """Limits memory, processes, file sizes or open files, or asks for an absurd number of threads."""
    kind = r.choice(["v", "v", "u", "f", "n", "threads"])
    # With little memory the allocator needs a long time for large requests.
    command = world.draw(r, verb, long=kind != "v" and r.random() < 0.2)
    if kind == "threads":
        return world.run(command, variables={"RAYON_NUM_THREADS": r.choice(THREADS)})
    value = {"v": r.choice([60, 80, 120, 200, 400, 1000]) * 1000, "u": r.choice([1, 2, 3, 5, 8, 20]), "f": r.choice([0, 1, 2, 8, 40]), "n": r.choice([4, 5, 6, 8, 12])}[kind]
    # Standard output is a file too, and the limit applies to it.
    stream = f"> {rules.STDOUT}" if kind == "f" and r.random() < 0.3 else ""
    return world.run(command, limits=f"ulimit -{kind} {value} 2> /dev/null || ulimit -p {value};", streams=stream)


@attack(3)
def streams(r, world, verb):
    """Closes, fills or abandons standard streams."""
    command = world.draw(r, verb)
    stream, read = r.choice([
        (">&-", True), ("2>&-", True), ("<&-", True), (">/dev/full", True), ("2>/dev/full", True), (">&- 2>&- <&-", True), (">/dev/full 2>&1", True), ("</", True),
        (">&- 2>/dev/full", True), ("</dev/null", True), ("1</dev/null", True), ("", False), ("", False), ("2>&1", False),
    ])
    run = viewed(r, world, verb, world.run(command, streams=stream, read=read, patience=600))
    if ">/dev/full" in stream.split("2>")[0] and not any(map(is_output, command.words)):
        # The result is lost.
        run.statuses = frozenset({2})
    return run


@attack(5)
def signals(r, world, verb):
    """Sends SIGINT or SIGTERM at a random time, to the program or to its process group."""
    command = world.draw(r, verb, lambda c: c in world.long[verb] or not world.long[verb] or r.random() < 0.2, long=True)
    number = r.choice([signal.SIGINT, signal.SIGTERM])
    what, files = "", {"o.json": b"{}"} if r.random() < 0.3 and "o.json" in command.words else {}
    if "device" in world.inputs(command.words) and r.random() < 0.5:
        what, text = devices.broken(r, world.files["device"][0])
        files["device"] = ("program", text)
    # The signal is a failure neither of the request nor of the device.
    statuses = frozenset({0, 1, 2, 3} if what or verb in commands.BY_MACHINE else {0, 1})
    return world.run(command, files=files, about=f"the device: {what}" * bool(what), signal=(number, 10 ** r.uniform(-2.7, 0.8), r.random() < 0.3),
                     statuses=statuses, replaceable=frozenset({"o.json"}))


@attack(0)
def large_inputs(r, world, verb):
    """Sends SIGINT or SIGTERM at a random time while inputs of 100 MB are worked on. The files are made when they are first needed."""
    if verb not in world.large:
        return None
    command = r.choice(world.large[verb])
    words = [*command.words, command.stdin or ""]
    folder = os.path.join(os.path.dirname(world.program), "large")
    with world.lock:
        os.makedirs(folder, exist_ok=True)
        used = [name for name in large.FILES if any(name in re.split(r"[:/]", word) for word in words)]
        made = {name: ("link", large.make(world.program, folder, name)) for name in used}
    return Run(list(command.words), files=made, streams=f"< {command.stdin}" if command.stdin else "", statuses=frozenset({0, 1}),
               signal=(r.choice([signal.SIGINT, signal.SIGTERM]), 10 ** r.uniform(-1, 0.8), False))


@attack(1)
def killed(r, world, verb):
    """Sends SIGKILL at a random time. Every output must then be the complete old file or the complete new file."""
    command = world.draw(r, verb, lambda c: any(map(is_output, c.words)), long=True)
    # The command that a document waits for ends without a signal.
    if not command or verb == "report":
        return None
    files = {"o.json": b"{}"} if "o.json" in command.words else {}
    return world.run(command, files=files, signal=(signal.SIGKILL, 10 ** r.uniform(-2.7, 0.3), False), replaceable=frozenset({"o.json"}))


def made(r, world, verbs, attacks):
    """Makes one run; returns the verb, the attack and the run, or None if the attack applies to no command of the verb."""
    verb = r.choice(verbs)
    for _ in range(100):
        name = r.choices(attacks, [ATTACKS[name][0] for name in attacks] if len(attacks) > 1 else None)[0]
        if run := ATTACKS[name][1](r, world, verb):
            return verb, name, run
    return None
