"""Checks that must pass after every run."""

import csv
import hashlib
import io
import json
import os
import pathlib
import re
import signal
import stat
import struct
import xml.etree.ElementTree

from . import schema

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "schemas/report.schema.json").read_text())
# The largest numbers of characters and of lines on standard error.
MOST_CHARACTERS = 6000
MOST_LINES = 60
# Texts that no message may contain.
INTERNAL = re.compile(
    r"panicked|RUST_BACKTRACE|thread '|internal error|unwrap\(|Os \{|Err\(|Some\(|Parse(Int|Float)Error|Utf8Error|core dumped|memory allocation"
)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# The file of the folder that receives standard output, if it is redirected.
STDOUT = "stdout"
HELP = {"-h", "--help", "-V", "--version"}
TEMPORARY = re.compile(r"(^|/)\.tmp\w+$")


def broken(run, end):
    """Lists what a run did that no run may do."""
    allowed = set(run.statuses) | ({128 + end.sent} if end.sent else set())
    wrong = [] if end.status in allowed else [f"status {end.status}, not {' or '.join(map(str, sorted(allowed)))}"]
    return wrong + messages(run, end) + results(run, end) + files(run, end)


def failed(end):
    return end.status in (2, 3)


def messages(run, end):
    """Checks standard error: a failure prints exactly one readable message."""
    try:
        said = end.stderr.decode()
    except UnicodeDecodeError:
        return ["standard error is not UTF-8"]
    # If memory runs out, every thread prints the system's own message.
    if end.status == 3 and "ulimit -v" in run.limits:
        return []
    wrong = []
    if found := INTERNAL.search(said):
        wrong.append(f"standard error contains {found[0]!r}")
    if found := CONTROL.search(said):
        wrong.append(f"standard error contains the control character {found[0]!r}")
    # Without arguments, or without the command of a group, the help is printed there.
    helped = not run.arguments or run.arguments == ["gemm"]
    if not helped and (len(said) > MOST_CHARACTERS or said.count("\n") > MOST_LINES):
        wrong.append(f"standard error has {len(said)} characters in {said.count(chr(10))} lines")
    errors = sum(line.startswith("error: ") and len(line) > 10 for line in said.split("\n"))
    if failed(end) and not helped and "2>" not in run.streams and errors != 1:
        wrong.append(f"{errors} messages begin with `error: `, not 1")
    if end.status in (0, 1) and errors:
        wrong.append("there is an error message, but the exit status is not a failure")
    return wrong


def results(run, end):
    """Checks standard output: it must be text, and complete if it is JSON."""
    try:
        shown = end.stdout.decode()
    except UnicodeDecodeError:
        return ["standard output is not UTF-8"]
    wrong = []
    if found := CONTROL.search(shown):
        wrong.append(f"standard output contains the control character {found[0]!r}")
    view = [after for flag, after in zip(run.arguments, run.arguments[1:]) if flag == "--output"]
    if shown and not HELP & {*run.arguments} and end.sent != signal.SIGKILL:
        if view == ["json"] and shown.startswith("{"):
            wrong += document(shown, end.status)
        if view == ["csv"]:
            cells = [cell for row in csv.reader(io.StringIO(shown)) for cell in row]
            wrong += [f"a cell is a formula: {cell[:40]!r}" for cell in cells if cell.startswith(("=", "@"))][:1]
    return wrong


def members(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a member appears twice")
    return dict(pairs)


def no_number(word):
    raise ValueError(f"{word} is not JSON")


def parsed(text):
    return json.loads(text, object_pairs_hook=members, parse_constant=no_number)


def document(text, status=None):
    """Lists the violations in a JSON document, including a result that contradicts its exit status."""
    try:
        value = parsed(text)
    except ValueError as error:
        return [f"the JSON is not whole: {error}"]
    if not isinstance(value, dict) or "holds" not in value:
        return []
    wrong = schema.errors(value, SCHEMA, SCHEMA)[:2]
    if status in (0, 1) and value["holds"] != (status == 0):
        wrong.append(f"`holds` is {value['holds']}, but the exit status is {status}")
    if status in (130, 143) and not value.get("interrupted"):
        wrong.append("the result does not say that the run was interrupted")
    return wrong


def half_written(path, status):
    """Lists the violations in a file that the program wrote, by its content and not by its name."""
    try:
        data = pathlib.Path(path).read_bytes()
        if not data:
            return ["it is empty"]
        if data[:1] == b"{":
            return document(data, status)
        if data[8:10] == b'{"':
            length = struct.unpack("<Q", data[:8])[0]
            header = parsed(data[8:8 + length])
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            return [] if len(data) == 8 + length + max(ends, default=0) else ["its header says another length"]
        if data.startswith((b"<svg", b"<?xml")):
            xml.etree.ElementTree.fromstring(data)
        for start, last in [(b"%PDF", b"%%EOF"), (b"\x89PNG", b"IEND\xaeB`\x82"), (b"<!DOCTYPE", b"</html>")]:
            if data.startswith(start) and not data.rstrip(b"\n").endswith(last):
                return [f"it does not end with {last}"]
    except (OSError, ValueError, KeyError, TypeError, struct.error, xml.etree.ElementTree.ParseError) as error:
        return [str(error)]
    return []


def state(folder):
    """Returns the kind, the permissions and, unless the content is too large, a digest of every entry of a folder, by path."""
    found = {}
    for where, folders, names in os.walk(os.fsencode(folder)):
        for name in folders + names:
            path = os.path.join(where, name)
            mode = os.lstat(path).st_mode
            content = b""
            if stat.S_ISLNK(mode):
                content = os.readlink(path)
            elif stat.S_ISREG(mode) and os.path.getsize(path) < 1 << 26 and os.access(path, os.R_OK):
                content = hashlib.sha256(pathlib.Path(os.fsdecode(path)).read_bytes()).digest()
            found[os.fsdecode(os.path.relpath(path, os.fsencode(folder)))] = (mode, content)
    return found


def named(path, run):
    """Returns whether a word of the command line implies the name of a file that was written."""
    for word in run.arguments:
        word = os.fsdecode(word) if isinstance(word, bytes) else word
        for part in {word, word.partition("=")[2], word.partition(":")[2]}:
            name = os.path.normpath(part)
            stem = name.rpartition(".")[0] or name
            if part and (name == "." or path == name or path.startswith((name + "/", stem + ".")) or name.startswith(path + "/")):
                return True
    return False


def files(run, end):
    """Checks the folder: inputs are unchanged, outputs are complete or absent, and there is nothing else."""
    wrong = []
    for path in sorted(end.before.keys() | end.after.keys()):
        if end.before.get(path) == end.after.get(path) or path == STDOUT:
            continue
        shown = path.encode("utf-8", "backslashreplace").decode()
        if path not in end.after:
            wrong.append(f"{shown} was removed")
        elif path in end.before and path not in run.replaceable:
            wrong.append(f"{shown} was changed")
        elif TEMPORARY.search(path) and end.sent == signal.SIGKILL:
            # A killed program had no time to remove it.
            continue
        elif path not in end.before and path not in run.replaceable and (TEMPORARY.search(path) or path.startswith("tmp/") or not named(path, run)):
            wrong.append(f"{shown} was left behind")
        elif os.path.isfile(os.path.join(end.folder, path)):
            # A signal may end the wait for the reader of another output after this output is complete; a survey keeps the results of
            # its steps, each with an end of its own.
            status = None if "is: pipe" in run.about or run.arguments[:1] == ["survey"] else end.status
            wrong += [f"{shown}: {half}" for half in half_written(os.path.join(end.folder, path), status)]
    if end.status in (0, 1) and not {"--", *HELP} & {*run.arguments}:
        # Every output that the program reports must exist.
        outs = [after for flag, after in zip(run.arguments, run.arguments[1:]) if flag in ("--out", "--also") and after in ("o.json", "o/", "o.npy", "o.safetensors")]
        wrong += [f"{out} was not written" for out in outs if not os.path.exists(os.path.join(end.folder, out))]
    return wrong
