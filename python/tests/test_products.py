"""Whole matrix products."""

import numpy as np
import pytest

import tcnum

F16 = "mma.m16n8k16.f32.f16.f16.f32"


def halves(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16)


def test_a_product_is_a_chain_of_its_instruction(rng):
    a, b = halves(rng, 20, 48), halves(rng, 48, 12)
    d = tcnum.gemm(a, b, device="model:hopper", instr=F16)
    m = tcnum.model("hopper")[F16]
    expected = np.zeros((20, 12), np.float32)
    for k in range(0, 48, 16):
        expected = m.execute(a[:, k : k + 16], b[k : k + 16], expected)
    assert np.array_equal(d.values, expected) and np.array_equal(np.asarray(d), expected)
    assert d.format.name == "f32" and "instruction" in d.schedule and "<table>" in d._repr_html_()


def test_the_keys_of_a_schedule_are_keywords(rng):
    a, b = halves(rng, 16, 256), halves(rng, 256, 8)
    split = tcnum.gemm(a, b, device="model:hopper", instr=F16, split_k=4, join="serial", output_format="f16")
    text = split.schedule
    assert "count = 4" in text and split.values.dtype == np.float16
    assert np.array_equal(tcnum.gemm(a, b, device="model:hopper", schedule=text).codes, split.codes)
    assert not np.array_equal(split.codes, tcnum.gemm(a, b, device="model:hopper", instr=F16).codes)


def test_operands_are_codes_values_or_rounded(rng):
    x = rng.standard_normal((8, 32)).astype(np.float32)
    name = "wgmma.m64n8k32.f32.e4m3.e4m3"
    with pytest.raises(tcnum.RequestError, match="not in e4m3"):
        tcnum.gemm(x, x.T, device="model:hopper", instr=name)
    d = tcnum.gemm(x, x.T, device="model:hopper", instr=name, quantise=True, promote=32, accuracy=True)
    codes = tcnum.encode(x, "e4m3", overflow="saturate")
    assert np.array_equal(tcnum.gemm(codes, codes.T, device="model:hopper", instr=name, promote=32).codes, d.codes)
    assert len(d.report["accuracy"]) > 0


def test_a_function_computes_the_steps(rng):
    a, b = halves(rng, 16, 64), halves(rng, 64, 8)
    m = tcnum.model("volta")["mma.m8n8k4.f32.f16.f16.f32"]
    by = {"instr": "mma.m8n8k4.f32.f16.f16.f32"}
    ours = tcnum.gemm(a, b, device=lambda a, b, c: m.execute(a, b, c), **by)
    assert np.array_equal(ours.codes, tcnum.gemm(a, b, device="model:volta", **by).codes)


def test_the_schedule_of_a_product_is_found(rng):
    a, b = halves(rng, 16, 128), halves(rng, 128, 16)
    d = tcnum.gemm(a, b, device="model:ampere", instr=F16, split_k=2)
    found = tcnum.match(a, b, d, models=["ampere"], instr=F16)
    assert found.holds and found["matches"][0]["exact"]
    none = tcnum.match(a, b, d.values + np.float32(1), models=["ampere"], instr=F16)
    assert not none.holds
    made = tcnum.match(a, b, lambda a, b: tcnum.gemm(a, b, device="model:ampere", instr=F16).values, models="ampere", instr=F16)
    assert made.holds


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({}, TypeError, "instr"),
        ({"instr": F16, "promot": 3}, TypeError, "no key 'promot'"),
        ({"instr": F16, "order": "sideways"}, ValueError, "order"),
        ({"instr": F16, "split_k": "many"}, ValueError, "schedule"),
        ({"instr": F16, "join": "serial"}, TypeError, "split_k"),
        ({"instr": F16, "promote": -1}, ValueError, "schedule"),
        ({"instr": F16, "device": "model:nothing"}, ValueError, "not a model"),
        ({"instr": F16, "device": 5}, TypeError, "a device is"),
        ({"instr": "nothing"}, ValueError, "instruction"),
        ({"schedule": "nowhere.toml"}, ValueError, "cannot be read"),
        ({"schedule": "instruction = 'x'\nwrong = 1"}, ValueError, "wrong"),
        ({"instr": F16, "c": np.zeros((3, 3), np.float32)}, ValueError, "3 x 3"),
        ({"instr": F16, "timeout": 0}, TypeError, "timeout"),
    ],
)
def test_what_is_wrong_is_said(arguments, error, says, rng):
    a, b = halves(rng, 4, 16), halves(rng, 16, 4)
    with pytest.raises(error, match=says):
        tcnum.gemm(a, b, **arguments)


def test_matrices_that_do_not_fit_are_refused(rng):
    with pytest.raises(ValueError):
        tcnum.gemm(halves(rng, 4, 16), halves(rng, 17, 4), instr=F16)
    with pytest.raises(ValueError, match="rows and columns"):
        tcnum.gemm(halves(rng, 2, 4, 16), halves(rng, 16, 4), instr=F16)


def test_a_right_product_is_within_its_bound_and_faulty_ones_are_not(rng):
    a, b = halves(rng, 24, 256), halves(rng, 256, 16)
    d = a.astype(np.float32) @ b.astype(np.float32)
    report = tcnum.assert_product(d, a, b)
    assert report.holds and report["product_check"][0]["within"] == 24 * 16
    for faulty in (0 * d, d[::-1], a[:, :192].astype(np.float32) @ b[:192].astype(np.float32), d * np.float32("nan")):
        assert not tcnum.check(faulty, a, b).holds
        with pytest.raises(AssertionError, match="outside the bound"):
            tcnum.assert_product(faulty, a, b)


def test_a_claimed_schedule_is_compared_bit_for_bit(rng):
    a, b = halves(rng, 24, 256), halves(rng, 256, 16)
    d = tcnum.gemm(a, b, device="model:hopper", instr=F16)
    row = tcnum.check(d, a, b, instr=F16, sample=100)["product_check"][0]
    assert row["equal_bits"] == row["sample"] and row["running_outside"] == 0
    half = tcnum.gemm(a, b, device="model:hopper", instr="mma.m16n8k16.f16.f16.f16.f16")
    assert not tcnum.check(half.values, a, b, instr=F16).holds


def test_a_check_refuses_what_is_no_product(rng):
    a, b = halves(rng, 8, 32), halves(rng, 32, 8)
    with pytest.raises(tcnum.RequestError, match="D is 4 x 8"):
        tcnum.check(np.zeros((4, 8), np.float32), a, b)
    with pytest.raises(TypeError, match="sample"):
        tcnum.check(np.zeros((8, 8), np.float32), a, b, sample=0)
    with pytest.raises(tcnum.RequestError, match="no instruction"):
        tcnum.check(np.zeros((8, 8), np.int32), a, b)


def test_products_by_schemes_are_those_of_f64_as_far_as_their_slices_reach(rng):
    a, b, c = rng.standard_normal((6, 90)), rng.standard_normal((90, 5)), rng.standard_normal((6, 5))
    exact = a @ b
    errors = [np.abs(tcnum.emulate(a, b, f"cublas-fp64:{count}") - exact).max() for count in (1, 3, 7)]
    assert errors[0] > 1e-3 > errors[1] > 1e-9 and errors[2] < 1e-12
    d = tcnum.emulate(a, b, c=c, alpha=-0.5, beta=3)
    assert d.dtype == np.float64 and np.abs(d - (-0.5 * exact + 3 * c)).max() < 1e-12
    pair = tcnum.emulate(np.stack([a, 2 * a]), np.stack([b, b]))
    assert pair.shape == (2, 6, 5) and np.array_equal(pair[1], 2 * pair[0])
    half = tcnum.emulate(a.astype(np.float32), b.astype(np.float32), "ootomo")
    assert half.dtype == np.float32 and np.abs(half - exact).max() < 1e-4
    # Any instruction of integers gives the same product.
    assert np.array_equal(tcnum.emulate(a, b, "cublas-fp64:7", device="model:cdna3"), tcnum.emulate(a, b, "cublas-fp64:7"))


def test_a_scheme_refuses_what_it_does_not_take(rng):
    a, b = rng.standard_normal((4, 8)), rng.standard_normal((8, 4))
    for error, match, call in (
        (tcnum.RequestError, "which f32 does not have", lambda: tcnum.emulate(a, b, "half")),
        (tcnum.RequestError, "no alpha, beta and C", lambda: tcnum.emulate(a, b, "crt-int8-f64", alpha=2.0)),
        (tcnum.RequestError, "no rule for batches", lambda: tcnum.emulate(a[None].repeat(2, 0), b[None].repeat(2, 0), "ozaki-int8-f64")),
        (tcnum.RequestError, "B needs as many rows", lambda: tcnum.emulate(a, a)),
        (tcnum.RequestError, "C is 8 x 4; expected 4 x 4", lambda: tcnum.emulate(a, b, c=b)),
        (tcnum.RequestError, "one matrix and b 2 matrices", lambda: tcnum.emulate(a, b[None].repeat(2, 0))),
        (tcnum.RequestError, "has the shape", lambda: tcnum.emulate(a[0], b)),
        (tcnum.RequestError, "holds codes", lambda: tcnum.emulate(a.astype(np.uint8), b)),
        (tcnum.RequestError, "unknown scheme", lambda: tcnum.emulate(a, b, "no-such-scheme")),
        (tcnum.RequestError, "drawn integers", lambda: tcnum.emulate(a, b, "l8-r8")),
        (TypeError, "alpha is a number", lambda: tcnum.emulate(a, b, alpha="2")),
        (TypeError, "string", lambda: tcnum.emulate(a, b, 7)),
    ):
        with pytest.raises(error, match=match):
            call()
