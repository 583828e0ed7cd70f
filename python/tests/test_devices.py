"""Devices, of names and of functions."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tcnum

SMALL = "mma.m16n8k8.f32.f16.f16.f32"


def simulated(name="ampere", instr=SMALL):
    """A function that computes as a model does."""
    m = tcnum.model(name)[instr]
    return lambda a, b, c: m.execute(a, b, c)


def test_a_function_that_is_a_model_is_verified():
    report = tcnum.verify(simulated(), "ampere", instr=SMALL, cases=20_000)
    assert report.holds and report["verification"][0]["compared"] >= 20_000
    other = tcnum.verify(simulated("hopper"), "ampere", instr=SMALL, cases=20_000)
    assert not other.holds and len(other["mismatches"]) > 0


def test_codes_reach_a_function_that_asks_for_them():
    m = tcnum.model("ampere")[SMALL]
    f = tcnum.device(lambda a, b, c: m.execute(a, b, c, codes=True), codes=True, instr=SMALL, name="of codes")
    assert f.name == "python:of-codes"
    assert tcnum.verify(f, "ampere", cases=5000).holds


def test_a_function_is_identified():
    report = tcnum.identify(simulated(), instr=SMALL, cases=50_000)
    row = report["identified"][0]
    assert report.holds and row["instruction"] == SMALL
    found = report.model[SMALL]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 1000, 8)).astype(np.float16)
    assert np.array_equal(found.dot(a, b), tcnum.model("ampere")[SMALL].dot(a, b))


def test_an_instruction_of_ones_own_is_identified():
    """A chain of multiplications and additions, each rounded."""

    def chain(a, b, c):
        d = c
        for k in range(a.shape[-1]):
            d = d + a[..., :, k, None] * b[..., k, None, :]
        return d

    report = tcnum.identify(chain, m=2, n=2, k=4, format="f32", cases=20_000)
    assert report.holds


def test_two_devices_are_told_apart():
    report = tcnum.distinguish(simulated(), "model:hopper", instr=SMALL, cases=5000)
    assert not report.holds and len(report["reasons"]) >= 1
    same = tcnum.distinguish(simulated(), tcnum.model("ampere"), instr=SMALL, cases=5000)
    assert same.holds
    both = tcnum.distinguish(simulated("volta", "mma.m8n8k4.f32.f16.f16.f32"), simulated("volta", "mma.m8n8k4.f32.f16.f16.f32"),
                             instr="mma.m8n8k4.f32.f16.f16.f32", cases=2000)
    assert both.holds


def test_the_order_of_a_sum_is_found():
    def pairs(a, b):
        products = a[0, :, None] * b
        return ((products[0] + products[1]) + (products[2] + products[3]))[None]

    report = tcnum.tree(pairs, m=1, n=1, k=4)
    assert report["trees"][0]["tree"].replace(" ", "") == "(c+((0+1)+(2+3)))"
    assert tcnum.tree(np.matmul, k=32).holds


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda a, b, c: 1 / 0, "division by zero"),
        (lambda a, b, c: None, "NoneType"),
        (lambda a, b, c: "text", "expected an array"),
        (lambda a, b, c: c[:1, :1, :1], "shape"),
        (lambda a, b, c: c.astype(complex), "complex"),
        (lambda a, b, c: c.astype(np.float64) + 1e-300, "not in f32"),
        (lambda a, b, c: c.view(np.uint32), "codes=True"),
        (lambda a, b, c: np.array([[object()]]), "object"),
        (lambda: None, "argument"),
    ],
)
def test_a_function_that_gives_something_else_is_a_device_that_fails(f, says):
    with pytest.raises(tcnum.DeviceError, match=says) as raised:
        tcnum.verify(tcnum.device(f, operands=3), "hopper", instr=SMALL, cases=1000)
    assert raised.value.__cause__ is not None


def test_what_a_function_raises_is_the_cause():
    class Own(Exception):
        pass

    def f(a, b, c):
        raise Own("no")

    with pytest.raises(tcnum.DeviceError, match="Own: no") as raised:
        tcnum.identify(f, instr=SMALL)
    assert isinstance(raised.value.__cause__, Own)


def test_an_interrupt_ends_the_work():
    calls = []

    def f(a, b, c):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return simulated()(a, b, c)

    # Where tests run in the background, interrupts may be ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tcnum.verify(f, "ampere", instr=SMALL, cases=10**7)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) < 20
    # The next call is not interrupted.
    assert tcnum.verify("model:ampere", "ampere", instr=SMALL, cases=1000).holds


def processor_time(process):
    """Clocks of the operating system that a process has had a processor for."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_an_interrupt_ends_work_that_calls_no_function():
    begin = "import signal, tcnum; signal.signal(signal.SIGINT, signal.default_int_handler)"
    work = f"{begin}; print('begun', flush=True); tcnum.verify('model:hopper', 'hopper', instr={SMALL!r}, cases=10**12)"
    process = subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdout.readline()
        # What it does from here on is the work.
        begun = processor_time(process)
        while processor_time(process) < begun + 20:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode != 0 and b"KeyboardInterrupt" in error


def test_a_function_may_call_the_library_again():
    def f(a, b, c):
        assert tcnum.verify(simulated(), "ampere", instr=SMALL, cases=128).holds
        return simulated()(a, b, c)

    assert tcnum.verify(f, "ampere", instr=SMALL, cases=1000).holds


def test_commands_are_functions():
    report = tcnum.command("probe", instr=SMALL, device="model:hopper", op="accumulate", init=["low"], samples=256)
    assert report.command == "probe" and len(report["profile"]) >= 1
    assert "tcnum probe" in report.invocation
    assert len(tcnum.devices()["simulated"]) >= 11
    assert set(tcnum.instructions("bf16", device="model:hopper").tables) >= {"instructions"}
