"""Runs the program once, in a new folder."""

import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import zlib

from . import rules

# The first user id that runs are given if the campaign runs as root, so that no run can change the machine.
USER = 61000
# Seconds that a run may take to end after a signal. They amount to minutes because a busy machine is slow.
AFTER_SIGNAL = 120
# Memory limit of a run, in KiB.
MEMORY = 8_000_000
# Seconds of computing after which the program has certainly installed its signal handlers.
SET_UP = 1.0


@dataclasses.dataclass
class Run:
    """A command line with its files, limits, redirections and signal."""

    arguments: list
    # A description of what the command line does not show.
    about: str = ""
    # Files of the folder by name: their bytes, or (kind, argument) for anything other than a regular file.
    files: dict = dataclasses.field(default_factory=dict)
    stdin: bytes = b""
    # Shell commands run before the program starts, redirections, and environment variables.
    limits: str = ""
    streams: str = ""
    variables: dict = dataclasses.field(default_factory=dict)
    # Whether standard output has a reader; if not, the pipe is closed.
    read: bool = True
    # The signal to send, the delay in seconds, and whether the whole process group gets it, as from a terminal.
    signal: tuple = None
    # Seconds after which a run that has not ended gets SIGTERM.
    patience: float = 10
    # Exit statuses that are allowed, in addition to the statuses of a signal that was sent.
    statuses: frozenset = frozenset({0, 1, 2, 3})
    # Files that the run may replace.
    replaceable: frozenset = frozenset()


@dataclasses.dataclass
class End:
    """How a run ended."""

    status: int
    stdout: bytes
    stderr: bytes
    # The signal that was sent, or None.
    sent: int
    before: dict
    after: dict
    folder: str
    # Seconds from the signal to the end.
    waited: float


def shown(run):
    """Formats the command line for a shell, with long words shortened."""
    words = [w if isinstance(w, str) else w.decode("utf-8", "surrogateescape") for w in run.arguments]
    words = [w if len(w) < 200 else f"{w[:60]}...({len(w)} characters)" for w in words]
    parts = [run.limits.strip(), *(f"{name}={shlex.quote(value)}" for name, value in run.variables.items()), "tcnum", *map(shlex.quote, words), run.streams]
    about = [run.about] * bool(run.about) + ["standard output has no reader"] * (not run.read)
    if run.signal:
        about.append(f"{run.signal[0].name} after {run.signal[1]:.3f} s{' to the group' if run.signal[2] else ''}")
    parts.append("# " * bool(about) + "; ".join(about))
    return " ".join(filter(None, parts)).encode("utf-8", "backslashreplace").decode()


def populate(folder, files):
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        kind, argument = content if isinstance(content, tuple) else ("file", content)
        if kind in ("folder", "closed folder"):
            os.makedirs(path, exist_ok=True)
        elif kind == "link":
            os.symlink(argument, path)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            with open(path, "wb") as file:
                file.truncate(argument) if kind == "sparse" else file.write(argument)
        modes = {"closed": 0, "closed folder": 0o555, "program": 0o755}
        if kind in modes:
            os.chmod(path, modes[kind])


def about_process(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def seconds_computed(pid):
    fields = about_process(pid, "stat").rpartition(b")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0


def processes(mark):
    """Finds the processes whose environment contains `mark`. A process that has ended has no environment."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and mark in about_process(entry, "environ")]


def perform(run, program, scratch, keep=None):
    """Runs the program; returns its status (128 + number for a signal), the seconds that it ran after a signal, and the list of violations."""
    folder = tempfile.mkdtemp(prefix="run-", dir=scratch)
    populate(folder, run.files)
    os.mkdir(os.path.join(folder, "tmp"))
    user = USER + zlib.crc32(folder.encode()) % 4000 if os.geteuid() == 0 else None
    if user is not None:
        subprocess.run(["chown", "-R", "-h", f"{user}:{user}", folder], check=True)
    try:
        end, wrong = ended(run, program, folder, user)
        wrong += rules.broken(run, end) if end else []
        if wrong and keep:
            shutil.rmtree(keep, ignore_errors=True)
            subprocess.run(["cp", "-a", folder, keep], check=False)
            for part, data in (("stdout", end.stdout), ("stderr", end.stderr), ("stdin", run.stdin)) if end else ():
                pathlib.Path(f"{keep}.{part}").write_bytes(data)
        return end.status if end else "not started", end.waited if end else 0, wrong
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def ended(run, program, folder, user):
    """Starts the program and waits for it; returns its end and the violations in how it ended."""
    before = rules.state(folder)
    mark = os.path.basename(folder)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "TMPDIR": os.path.join(folder, "tmp"), "LC_ALL": "C.UTF-8", "TCNUM_HOSTILE": mark, **run.variables}
    script = f'ulimit -c 0; ulimit -v {MEMORY}; {run.limits}\nexec "$0" "$@" {run.streams}'
    # Pipe ends that the program gets: a standard output without a reader, a standard input that stays open.
    output = dead_end() if not run.read else subprocess.PIPE
    waits = run.signal and not run.stdin
    source, held = os.pipe() if waits else (subprocess.PIPE, None)
    try:
        child = subprocess.Popen(
            [b"/bin/sh", b"-c", script.encode(), os.fsencode(program), *map(os.fsencode, run.arguments)], cwd=folder, env=environment,
            stdin=source, stdout=output, stderr=subprocess.PIPE, start_new_session=True, user=user, group=user,
            extra_groups=None if user is None else [],
        )
    except (OSError, ValueError):
        # The operating system rejects these arguments.
        return None, []
    finally:
        for end in [output] * (not run.read) + [source] * bool(waits):
            os.close(end)
    number, after, group = run.signal or (signal.SIGTERM, run.patience, False)
    wrong, sent, ready, stdout, stderr, waited = [], None, False, b"", b"", 0
    started = time.monotonic()
    try:
        stdout, stderr = child.communicate(None if waits else run.stdin, timeout=after)
    except subprocess.TimeoutExpired:
        sent, ready = number, seconds_computed(child.pid) > SET_UP
        (os.killpg if group else os.kill)(child.pid, number)
        asked = time.monotonic()
        try:
            stdout, stderr = child.communicate(timeout=AFTER_SIGNAL)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
            wrong.append(f"it did not end within {AFTER_SIGNAL} s of {number.name}")
        waited = time.monotonic() - asked
    if held is not None:
        os.close(held)
    if ready and child.returncode == -number and number != signal.SIGKILL:
        wrong.append(f"{number.name} killed it: the signal was not handled")
    status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    wrong += leftovers(mark.encode())
    if wrong:
        wrong.append(f"after {time.monotonic() - started:.1f} s")
    return End(status, stdout or b"", stderr or b"", sent, before, rules.state(folder), folder, waited), wrong


def dead_end():
    """Returns the writing end of a pipe whose reading end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def leftovers(mark):
    """Finds processes that the program left running, after giving them a moment to end."""
    for _ in range(200):
        left = processes(mark)
        if not left:
            return []
        time.sleep(0.05)
    for process in left:
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass
    return [f"{len(left)} processes were left behind"]
