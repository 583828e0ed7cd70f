"""One run of the program in a folder of its own."""

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

# The first of the users of runs, where the campaign runs as root: a run must not be able to change the machine.
USER = 61000
# A run has so many seconds to end after a signal. A busy machine is slow: these are minutes.
AFTER_SIGNAL = 120
# The most memory of a run, in KiB.
MEMORY = 8_000_000
# A program that has computed for so many seconds has long set up what it does on a signal.
SET_UP = 1.0


@dataclasses.dataclass
class Run:
    """A command line, and everything around it."""

    arguments: list
    # What the command line does not show, in words.
    about: str = ""
    # The files of the folder by name: their bytes, or (kind, argument) for what is no plain file.
    files: dict = dataclasses.field(default_factory=dict)
    stdin: bytes = b""
    # Commands of the shell before the program starts; redirections; variables of the environment.
    limits: str = ""
    streams: str = ""
    variables: dict = dataclasses.field(default_factory=dict)
    # A reader of standard output; without one the pipe is closed.
    read: bool = True
    # The signal to send, after how many seconds, and whether to the whole group, as a terminal does.
    signal: tuple = None
    # Seconds after which a run that goes on gets SIGTERM.
    patience: float = 20
    # The statuses that are right, beside those of a signal that was sent.
    statuses: frozenset = frozenset({0, 1, 2, 3})
    # Files that may be replaced.
    replaceable: frozenset = frozenset()


@dataclasses.dataclass
class End:
    """How a run ended."""

    status: int
    stdout: bytes
    stderr: bytes
    # The signal that was sent, if any.
    sent: int
    before: dict
    after: dict
    folder: str


def shown(run):
    """The command line for a shell, long words cut."""
    words = [w if isinstance(w, str) else w.decode("utf-8", "surrogateescape") for w in run.arguments]
    words = [w if len(w) < 200 else f"{w[:60]}...({len(w)} characters)" for w in words]
    parts = [run.limits.strip(), *(f"{name}={shlex.quote(value)}" for name, value in run.variables.items()), "tcnum", *map(shlex.quote, words), run.streams]
    about = [run.about] * bool(run.about) + ["a reader of standard output that is gone"] * (not run.read)
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
    """The processes whose environment holds `mark`. One that has ended has no environment."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and mark in about_process(entry, "environ")]


def perform(run, program, scratch, keep=None):
    """Runs it: the status (128 and more for signals), and what was wrong."""
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
        return end.status if end else "not started", wrong
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def ended(run, program, folder, user):
    """Starts the program and waits for it: its end, and what was wrong with that."""
    before = rules.state(folder)
    mark = os.path.basename(folder)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "TMPDIR": os.path.join(folder, "tmp"), "LC_ALL": "C.UTF-8", "TCNUM_HOSTILE": mark, **run.variables}
    script = f'ulimit -c 0; ulimit -v {MEMORY}; {run.limits}\nexec "$0" "$@" {run.streams}'
    # The ends of pipes that the program gets: a standard output that nobody reads, a standard input that stays open.
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
        # The system does not take these arguments.
        return None, []
    finally:
        for end in [output] * (not run.read) + [source] * bool(waits):
            os.close(end)
    number, after, group = run.signal or (signal.SIGTERM, run.patience, False)
    wrong, sent, ready, stdout, stderr = [], None, False, b"", b""
    started = time.monotonic()
    try:
        stdout, stderr = child.communicate(None if waits else run.stdin, timeout=after)
    except subprocess.TimeoutExpired:
        sent, ready = number, seconds_computed(child.pid) > SET_UP
        (os.killpg if group else os.kill)(child.pid, number)
        try:
            stdout, stderr = child.communicate(timeout=AFTER_SIGNAL)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
            wrong.append(f"it did not end within {AFTER_SIGNAL} s of {number.name}")
    if held is not None:
        os.close(held)
    if ready and child.returncode == -number and number != signal.SIGKILL:
        wrong.append(f"{number.name} killed it: the signal was not handled")
    status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    wrong += leftovers(mark.encode())
    if wrong:
        wrong.append(f"after {time.monotonic() - started:.1f} s")
    return End(status, stdout or b"", stderr or b"", sent, before, rules.state(folder), folder), wrong


def dead_end():
    """The end of a pipe for writing, whose reader is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def leftovers(mark):
    """Processes that the program left behind; they have a moment to go."""
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
