"""One run of the program in a folder of its own, and what it must not do."""

import csv
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
import xml.etree.ElementTree

from . import schema

# The user of runs for whom files and folders may be closed, and processes counted: where the campaign runs as root.
USER = 61234
# A run that is still at work after so many seconds is told to stop, and has as many again.
PATIENCE = 20
# The most memory of a run, in KiB: a small file must not cost more.
MEMORY = 8_000_000
# The longest text on standard error, and the most lines.
MOST_CHARACTERS = 4000
MOST_LINES = 30
# What no message says.
INTERNAL = re.compile(
    r"panicked|RUST_BACKTRACE|thread '|internal error|unwrap\(|Os \{|Err\(|Some\(|Parse(Int|Float)Error|Utf8Error|core dumped|memory allocation"
)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
DONE, REFUSED, DEVICE = frozenset({0, 1}), frozenset({2}), frozenset({3})
INTERRUPTED = frozenset({130, 143})


@dataclasses.dataclass
class Run:
    """What is run, and what may come of it."""

    arguments: list
    statuses: frozenset = DONE | REFUSED
    # Files of the folder: their bytes; (what, argument) for what is no plain file.
    files: dict = dataclasses.field(default_factory=dict)
    stdin: bytes = b""
    # Names that may be written where the work is done, and those that may be at any time.
    outputs: frozenset = frozenset()
    kept: frozenset = frozenset()
    # Commands of the shell before the program is started, redirections after it.
    limits: str = ""
    streams: str = ""
    # The signal that is sent, after so many seconds.
    signal: tuple = None
    # Whether results may stand on standard output beside an error.
    partial: bool = False
    # Whether nothing can be read from standard error.
    deaf: bool = False
    # Whether the user may not do everything.
    unprivileged: bool = False
    patience: float = PATIENCE
    # Whether standard output is read.
    read: bool = True


def text(arguments):
    """A command line, to be read, and to be given to a shell."""
    import shlex

    words = [a if isinstance(a, str) else a.decode("utf-8", "surrogateescape") for a in arguments]
    words = [w if len(w) < 200 else f"{w[:60]}...({len(w)})" for w in words]
    return " ".join(shlex.quote(w) for w in words).encode("utf-8", "backslashreplace").decode()


def populate(folder, files):
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        what, argument = content if isinstance(content, tuple) else ("file", content)
        if what == "file":
            with open(path, "wb") as file:
                file.write(argument)
        elif what == "closed":
            with open(path, "wb") as file:
                file.write(argument)
            os.chmod(path, 0)
        elif what == "folder":
            os.makedirs(path, exist_ok=True)
        elif what == "closed folder":
            os.makedirs(path, exist_ok=True)
            os.chmod(path, 0o555)
        elif what == "link":
            os.symlink(argument, path)
        elif what == "pipe":
            os.mkfifo(path)
        elif what == "sparse":
            with open(path, "wb") as file:
                file.truncate(argument)
        elif what == "hard link":
            os.link(os.path.join(os.fsencode(folder), os.fsencode(argument)), path)


def state(folder):
    """Everything in a folder: of files the kind, the permissions and a digest."""
    found = {}
    for where, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(where, name)
            about = os.lstat(path)
            content = b""
            if stat.S_ISLNK(about.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(about.st_mode) and about.st_size < 1 << 26:
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).digest()
            found[os.fsdecode(os.path.relpath(path, os.fsencode(folder)))] = (about.st_mode, content)
    return found


def members(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a member stands twice")
    return dict(pairs)


def number(word):
    raise ValueError(f"{word} is no JSON")


def parsed(document):
    return json.loads(document, object_pairs_hook=members, parse_constant=number)


def whole(path):
    """What is wrong with a file that the program wrote, whatever its name: `None` for a whole one."""
    data = pathlib.Path(path).read_bytes()
    try:
        if data[:1] == b"{":
            parsed(data)
        elif data[8:9] == b"{":
            length = struct.unpack("<Q", data[:8])[0]
            header = parsed(data[8:8 + length])
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            if len(data) != 8 + length + max(ends, default=0):
                return "it has not the length that its header says"
        elif data[:4] == b"<svg":
            xml.etree.ElementTree.fromstring(data)
        elif not data:
            return "it is empty"
    except (ValueError, KeyError, struct.error, xml.etree.ElementTree.ParseError) as error:
        return str(error)
    return None


def processes(mark):
    """The processes whose environment holds `mark`, but for those that have ended and were not yet waited for."""
    found = []
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark in file.read():
                        found.append(int(entry))
            except OSError:
                pass
    return found


class Campaign:
    """What all runs share."""

    def __init__(self, program, scratch, keep):
        self.program = os.path.abspath(program)
        self.scratch = scratch
        self.keep = keep
        repository = pathlib.Path(__file__).resolve().parents[2]
        self.schema = json.loads((repository / "schemas/report.schema.json").read_text())
        self.root = hasattr(os, "geteuid") and os.geteuid() == 0

    def perform(self, run, name):
        """Runs it: the status (128 and more for signals), and what was violated."""
        folder = tempfile.mkdtemp(prefix="run-", dir=self.scratch)
        try:
            return self.in_folder(run, folder, name)
        finally:
            for where, folders, _ in os.walk(folder):
                for inner in folders:
                    if not os.path.islink(os.path.join(where, inner)):
                        os.chmod(os.path.join(where, inner), 0o755)
            shutil.rmtree(folder, ignore_errors=True)

    def in_folder(self, run, folder, name):
        populate(folder, run.files)
        os.mkdir(os.path.join(folder, "tmp"))
        user = USER if run.unprivileged and self.root else None
        if user is not None:
            for where, folders, files in os.walk(os.fsencode(folder)):
                for path in [where] + [os.path.join(where, f) for f in files]:
                    os.lchown(path, user, user)
        before = state(folder)
        mark = f"TCNUM_HOSTILE_RUN={os.path.basename(folder)}"
        environment = {
            "PATH": os.environ.get("PATH", ""), "HOME": folder, "TMPDIR": os.path.join(folder, "tmp"), "LC_ALL": "C.UTF-8",
            mark.split("=")[0]: mark.split("=")[1],
        }
        script = f'ulimit -c 0; ulimit -v {MEMORY}; {run.limits}\nexec "$0" "$@" {run.streams}'
        command = [b"/bin/sh", b"-c", script.encode(), os.fsencode(self.program)] + [os.fsencode(a) for a in run.arguments]
        start = time.monotonic()
        output, closed = subprocess.PIPE, None
        if not run.read:
            # A pipe whose reader has gone.
            reading, output = os.pipe()
            os.close(reading)
            closed = output
        try:
            child = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE, start_new_session=True,
                user=user, group=user, extra_groups=[] if user is not None else None,
            )
        except (OSError, ValueError) as error:
            # Arguments that the system does not take.
            return "not started", [] if isinstance(error, (ValueError, OSError)) else [str(error)]
        finally:
            if closed is not None:
                os.close(closed)
        sent = None
        wrong = []
        try:
            if run.signal is not None:
                sent, delay = run.signal
                try:
                    stdout, stderr = child.communicate(run.stdin, timeout=delay)
                    sent = None
                except subprocess.TimeoutExpired:
                    child.send_signal(sent)
                    stdout, stderr = child.communicate(timeout=PATIENCE)
            else:
                try:
                    stdout, stderr = child.communicate(run.stdin, timeout=run.patience)
                except subprocess.TimeoutExpired:
                    sent = signal.SIGTERM
                    child.send_signal(sent)
                    stdout, stderr = child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
            wrong.append(f"it did not end {PATIENCE} s after the signal" if sent else "it did not end")
        status = child.returncode if child.returncode >= 0 else 128 - child.returncode
        wrong += self.leftovers(mark)
        allowed = set(run.statuses)
        if sent is not None:
            allowed = {128 + sent} | (allowed if run.signal else set())
        if status not in allowed:
            wrong.append(f"status {status}, not {' or '.join(map(str, sorted(allowed)))}")
        wrong += self.messages(run, status, stderr)
        wrong += self.results(run, status, stdout)
        wrong += self.changes(run, status, folder, before, sent)
        if wrong and self.keep:
            kept = os.path.join(self.keep, name)
            shutil.rmtree(kept, ignore_errors=True)
            subprocess.run(["cp", "-a", folder, kept], check=False)
            for part, data in (("stdout", stdout), ("stderr", stderr), ("stdin", run.stdin)):
                pathlib.Path(kept + "." + part).write_bytes(data or b"")
        if wrong:
            said = (stderr or b"").decode("utf-8", "replace").strip()[-300:]
            wrong.append(f"it took {time.monotonic() - start:.1f} s and said: {said!r}")
        return status, wrong

    def leftovers(self, mark):
        """Processes that the program left behind: they have a second to go."""
        deadline = time.monotonic() + 1.5
        while left := processes(mark.encode()):
            if time.monotonic() > deadline:
                for process in left:
                    try:
                        os.kill(process, signal.SIGKILL)
                    except OSError:
                        pass
                return [f"{len(left)} processes were left behind"]
            time.sleep(0.05)
        return []

    def messages(self, run, status, stderr):
        """Standard error: of a failure one message, for people."""
        wrong = []
        try:
            said = (stderr or b"").decode()
        except UnicodeDecodeError:
            return ["standard error is no UTF-8"]
        if found := INTERNAL.search(said):
            wrong.append(f"standard error has {found[0]!r}")
        if found := CONTROL.search(said):
            wrong.append(f"standard error has the control character {found[0]!r}")
        # Without any argument it is the help.
        if run.arguments and (len(said) > MOST_CHARACTERS or said.count("\n") > MOST_LINES):
            wrong.append(f"standard error has {len(said)} characters in {said.count(chr(10))} lines")
        errors = [line for line in said.split("\n") if line.startswith("error: ")]
        failed = status in REFUSED | DEVICE and run.arguments
        if failed and not run.deaf and len(errors) != 1:
            wrong.append(f"{len(errors)} messages of an error")
        if status in DONE and errors:
            wrong.append("a message of an error, and no failure")
        return wrong

    def results(self, run, status, stdout):
        stdout = stdout or b""
        wrong = []
        try:
            shown = stdout.decode()
        except UnicodeDecodeError:
            return ["standard output is no UTF-8"]
        if status in REFUSED | DEVICE and stdout and not run.partial:
            wrong.append("standard output is not empty")
        if found := CONTROL.search(shown):
            wrong.append(f"standard output has the control character {found[0]!r}")
        view = self.view(run)
        if status in DONE and shown and run.read and "--help" not in run.arguments:
            if view == "json":
                wrong += self.report(shown, status)
            elif view == "csv":
                cells = [cell for row in csv.reader(io.StringIO(shown)) for cell in row]
                wrong += [f"a cell is a formula: {cell[:40]!r}" for cell in cells if cell.startswith(("=", "@"))][:1]
        return wrong

    def view(self, run):
        """The view that is asked for, where it is clear."""
        given = [after for flag, after in zip(run.arguments, run.arguments[1:]) if flag == "--output"]
        return given[0] if len(given) == 1 else None

    def report(self, document, status):
        try:
            report = parsed(document)
        except ValueError as error:
            return [f"no JSON: {error}"]
        wrong = schema.errors(report, self.schema, self.schema)[:2]
        if status in DONE and report.get("holds") != (status == 0):
            wrong.append(f"holds is {report.get('holds')}, and the status {status}")
        return wrong

    def changes(self, run, status, folder, before, sent):
        """Files: none is lost, none is half a file, none is left behind."""
        wrong = []
        after = state(folder)
        may = set(run.kept)
        if status in DONE | INTERRUPTED or sent == signal.SIGKILL:
            may |= run.outputs
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) == after.get(path):
                continue
            shown = path.encode("utf-8", "backslashreplace").decode()
            allowed = any(path == name or (name.endswith("/") and path.startswith(name) or path == name[:-1]) for name in may)
            if sent == signal.SIGKILL and path not in before and re.search(r"(^|/)\.tmp\w+$", path):
                # It had no time to remove it.
                continue
            if not allowed:
                what = "was changed" if path in before and path in after else "is gone" if path in before else "was left behind"
                wrong.append(f"{shown} {what}")
            elif path not in after:
                wrong.append(f"{shown} is gone")
            else:
                target = os.path.realpath(os.path.join(folder, path))
                if os.path.isfile(target) and os.path.isfile(os.path.join(folder, path)):
                    half = whole(os.path.join(folder, path))
                    wrong += [f"{shown}: {half}"] if half else []
                    if path.endswith(".json") and not half and self.view(run) == "json" and "--out" in run.arguments:
                        wrong += self.report(pathlib.Path(target).read_bytes(), status)
        return wrong
