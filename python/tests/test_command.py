"""The command that the package installs."""

import os
import signal
import subprocess
import sys

import tcnum


def run(*words, **options):
    return subprocess.run([sys.executable, "-m", "tcnum", *words], capture_output=True, text=True, **options)


def test_the_command_prints_its_report():
    done = run("formats", "e4m3")
    assert done.returncode == 0 and "448" in done.stdout and done.stderr == ""
    assert run("--version").stdout.strip() == f"tcnum {tcnum.__version__}" or run("--version").stdout.startswith("tcnum")


def test_exit_statuses_are_those_of_the_command():
    mismatch = ["verify", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:hopper", "--model", "ampere", "--cases", "2000"]
    assert run(*mismatch).returncode == 1
    wrong = run("formats", "fp8-e4m4")
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: unknown format 'fp8-e4m4'")
    assert run("--nothing").returncode == 2


def test_an_interrupt_ends_the_command():
    words = ["verify", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:hopper", "--model", "hopper", "--cases", "1e11"]
    often = os.environ | {"TCNUM_PROGRESS_SECONDS": "0.01"}
    process = subprocess.Popen([sys.executable, "-m", "tcnum", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=often)
    # The remaining time is printed only after some of the work is done.
    while b" s left" not in (line := process.stderr.readline()):
        assert line, "it ended"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 130 and b"Interrupted by SIGINT" in out


def test_the_module_is_imported_without_numpy_which_takes_longer_than_all_the_rest():
    """NumPy is imported when it is first needed."""
    subprocess.run([sys.executable, "-c", "import sys, tcnum; assert 'numpy' not in sys.modules"], check=True)
