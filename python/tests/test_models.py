"""The arithmetic of instructions on arrays."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tcnum

F16 = "mma.m16n8k16.f32.f16.f16.f32"


def command(*words):
    """The report of the command in the package, as JSON."""
    done = subprocess.run([sys.executable, "-m", "tcnum", *words, "--output", "json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def test_a_dot_product_add_is_that_of_the_command(rng):
    m = tcnum.model("hopper")["wgmma.m64n8k32.f32.e4m3.e4m3"]
    a, b = (tcnum.decode(tcnum.encode(rng.standard_normal((3, 32)) * 4, "e4m3"), "e4m3") for _ in range(2))
    c = rng.standard_normal(3).astype(np.float32)
    d = m.dot(a, b, c)
    for case in range(3):
        words = [f"--{name}={','.join(map(str, array[case].tolist()))}" for name, array in (("a", a), ("b", b))]
        status, report = command("explain", "--instr", m.instruction.name, "--model", "hopper", *words, f"--c={float(c[case])!r}")
        assert status == 0
        assert report["tables"]["results"][0]["d"] == f"0x{d[case].view(np.uint32):08x}"


def test_fused_steps_of_hopper_cut_what_is_25_bits_below():
    m, other = (tcnum.model(name)["mma.m16n8k8.f32.f16.f16.f32"] for name in ("hopper", "ampere"))
    operands = [1, -(2.0**-13)], [1, 2.0**-12], 0
    assert (m.dot(*operands), other.dot(*operands)) == (np.float32(1 - 2.0**-24), np.float32(1))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("hopper", F16),
        ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"),
        ("hopper", "mma.m16n8k8.f32.tf32.tf32.f32"),
        ("hopper", "mma.m16n8k16.s32.s8.u8.s32.satfinite"),
        ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
        ("x86", "vdpbf16ps.m1n16k2.f32.bf16.bf16.f32"),
    ],
)
def test_cases_tiles_and_products_agree(model, name, rng):
    m = tcnum.model(model)[name]
    i = m.instruction
    codes = {}
    for operand, of, rows, columns in i.operands:
        own = tcnum.formats[of]
        codes[operand] = rng.integers(0, 1 << own.bits, (2, rows, columns), dtype=np.uint64).astype(f"u{own.bytes}")
    tiles = m.execute(codes["a"], codes["b"], codes["c"], codes=True)
    cases = m.dot(codes["a"][:, :, None, :], np.swapaxes(codes["b"], -1, -2)[:, None], codes["c"], codes=True)
    assert np.array_equal(tiles, cases)


def test_operands_are_broadcast(rng):
    m = tcnum.model("ampere")[F16]
    a, b = rng.standard_normal((5, 1, 16)).astype(np.float16), rng.standard_normal((3, 16)).astype(np.float16)
    d = m.dot(a, b, 1)
    assert d.shape == (5, 3) and d.dtype == np.float32
    assert d[4, 2] == m.dot(a[4, 0], b[2], 1)
    assert m.dot(np.empty((0, 16), np.float16), b[0]).shape == (0,)


def test_codes_and_values_are_the_same_operands(rng):
    m = tcnum.model("hopper")["mma.m16n8k16.f32.bf16.bf16.f32"]
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = rng.standard_normal((4, 16)).astype(ml_dtypes.bfloat16)
    d = m.dot(a, a)
    assert np.array_equal(m.dot(a.view(np.uint16), a.view(np.uint16)), d)
    assert np.array_equal(m.dot(a.astype(np.float32), a.astype(np.float64)), d)
    assert np.array_equal(m.dot(a, a, codes=True), d.view(np.uint32))


def test_values_that_the_format_lacks_are_refused_unless_they_may_be_rounded():
    m = tcnum.model("hopper")["mma.m16n8k16.f32.bf16.bf16.f32"]
    with pytest.raises(tcnum.RequestError, match="1 of its 2 values are not in bf16"):
        m.dot([1, 1 + 2.0**-9], [1, 1])
    assert m.dot([1, 1 + 2.0**-9], [1, 1], quantise=True) == 2


def test_sparse_and_scaled_forms_take_positions_and_scales():
    sparse = tcnum.model("ampere")["mma.sp.m16n8k16.f32.f16.f16.f32"]
    b = np.arange(16, dtype=np.float16)
    d = sparse.dot(np.ones(8, np.float16), b, positions=[0, 1, 2, 3, 0, 2, 1, 3])
    assert d == sum([0, 1, 6, 7, 8, 10, 13, 15])
    with pytest.raises(ValueError, match="positions"):
        sparse.dot(np.ones(8, np.float16), b)
    with pytest.raises(ValueError, match="2 different positions below 4"):
        sparse.dot(np.ones(8, np.float16), b, positions=[1, 1] * 4)
    name = next(name for name in tcnum.model("blackwell") if tcnum.instruction(name).scale == "e8m0")
    scaled = tcnum.model("blackwell")[name]
    ones = np.ones(scaled.instruction.k)
    plain, doubled = scaled.dot(ones, ones), scaled.dot(ones, ones, scale_a=2 * np.ones(scaled.instruction.k // scaled.instruction.scale_block))
    assert (plain, doubled) == (len(ones), 2 * len(ones))


def test_models_say_what_they_cover():
    hopper = tcnum.model("model:hopper")
    assert F16 in hopper and "mfma.32x32x2.f32.f32.f32.f32" not in hopper and 5 not in hopper
    assert len(list(hopper)) == len(hopper) > 100
    again = tcnum.model(hopper.text)
    assert again.name == "hopper" and again[F16].program == hopper[F16].program


def test_explanations_are_tables():
    m = tcnum.model("hopper")["mma.m16n8k8.f32.f16.f16.f32"]
    report = m.explain([1, -(2.0**-13)], [1, 2.0**-12], against="ampere")
    assert not report.holds and [row["same"] for row in report["steps"]].count(False) > 0
    assert "aligned sum" in str(report) and "<table>" in report._repr_html_()
    assert list(report.to_pandas("results")["d"]) == ["0x3f7fffff", "0x3f800000"]
