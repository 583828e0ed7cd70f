"""Arrays and products of PyTorch and of JAX, where they are installed."""

import numpy as np
import pytest

import tcnum

SMALL = "mma.m16n8k8.f32.f16.f16.f32"
BF16 = "mma.m16n8k16.f32.bf16.bf16.f32"
# The types of both libraries that are formats and that NumPy lacks.
TYPES = {
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: TCNUM_TORCH=1 tools/python installs it")


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax", reason="JAX is not installed: TCNUM_TORCH=1 tools/python installs it")


def ordinary(rng):
    """Numbers inside the range of every format."""
    return rng.standard_normal((64, 16)).astype(np.float32)


@pytest.mark.parametrize("name", TYPES)
def test_types_of_torch_are_formats(name, torch, rng):
    values = torch.from_numpy(ordinary(rng))
    theirs = values.to(getattr(torch, TYPES[name]))
    codes = theirs.view(torch.uint8 if theirs.element_size() == 1 else torch.int16).numpy()
    codes = codes.view(f"u{codes.dtype.itemsize}")
    assert np.array_equal(tcnum.encode(values, name), codes)
    assert np.array_equal(tcnum.encode(theirs, name), codes)
    assert np.array_equal(tcnum.encode(theirs.t(), name), codes.T)
    assert np.array_equal(tcnum.decode(theirs, name), theirs.float().numpy())


@pytest.mark.parametrize("name", TYPES)
def test_types_of_jax_are_formats(name, jax, rng):
    values = jax.numpy.asarray(ordinary(rng))
    theirs = values.astype(getattr(jax.numpy, TYPES[name]))
    codes = np.asarray(theirs)
    codes = codes.view(f"u{codes.dtype.itemsize}")
    assert np.array_equal(tcnum.encode(values, name), codes)
    assert np.array_equal(tcnum.encode(theirs, name), codes)
    assert np.array_equal(tcnum.decode(theirs, name), np.asarray(theirs.astype(np.float32)))


def test_tensors_of_torch_are_operands(torch, rng):
    m = tcnum.model("hopper")[BF16]
    a, b = (torch.from_numpy(ordinary(rng)).to(torch.bfloat16) for _ in range(2))
    c = torch.ones(64, requires_grad=True)
    expected = m.dot(a.float().numpy(), b.float().numpy(), np.ones(64, np.float32))
    assert np.array_equal(m.dot(a, b, c), expected)
    assert np.array_equal(m.dot(a.view(torch.int16).numpy().view(np.uint16), b, c), expected)
    assert torch.equal(torch.from_numpy(m.dot(a, b, c)), torch.from_numpy(expected))


def test_arrays_of_jax_are_operands(jax, rng):
    m = tcnum.model("hopper")[BF16]
    a, b = (jax.numpy.asarray(ordinary(rng)).astype(jax.numpy.bfloat16) for _ in range(2))
    expected = m.dot(np.asarray(a, np.float32), np.asarray(b, np.float32))
    assert np.array_equal(m.dot(a, b), expected)
    assert np.array_equal(np.asarray(jax.numpy.asarray(m.dot(a, b))), expected)


def test_results_go_to_torch_and_to_jax(torch, jax, rng):
    blocks = tcnum.quantise(ordinary(rng), "mxfp4")
    assert np.array_equal(torch.from_numpy(np.asarray(blocks)).numpy(), blocks.values)
    assert np.array_equal(np.asarray(jax.numpy.asarray(np.asarray(blocks))), blocks.values)


def test_what_torch_has_and_no_format_is_refused(torch):
    for wrong in (torch.ones(2, dtype=torch.complex64), torch.ones(2, dtype=torch.bool), torch.ones(2, device="meta")):
        with pytest.raises((TypeError, tcnum.RequestError), match="x is"):
            tcnum.encode(wrong, "e4m3")


def test_functions_of_torch_and_jax_are_devices(torch, jax):
    """Each computes with the model's arithmetic, on its own arrays."""
    m = tcnum.model("ampere")[SMALL]

    def of_torch(a, b, c):
        return torch.from_numpy(m.execute(*(torch.from_numpy(np.array(own)) for own in (a, b, c))))

    def of_jax(a, b, c):
        return jax.numpy.asarray(m.execute(*(jax.numpy.asarray(own) for own in (a, b, c))))

    for device in (of_torch, of_jax):
        assert tcnum.verify(device, "ampere", instr=SMALL, cases=5000).holds
        assert not tcnum.verify(device, "hopper", instr=SMALL, cases=5000).holds


def test_the_order_of_a_sum_of_torch_is_found(torch):
    def in_order(a, b):
        a, b = torch.from_numpy(np.array(a)), torch.from_numpy(np.array(b))
        d = a[:, 0, None] * b[0]
        for k in range(1, a.shape[1]):
            d = d + a[:, k, None] * b[k]
        return d

    assert tcnum.tree(in_order, m=2, n=2, k=4, format="f32")["trees"]["tree"] == ["chain(0..3, c)"]


def test_the_schedule_of_a_product_of_torch_is_found(torch, rng):
    """A product that is made of steps of an instruction, joined by additions of torch."""
    name = "mma.m16n8k16.f32.f16.f16.f32"
    a, b = (torch.from_numpy(rng.standard_normal(shape).astype(np.float16)) for shape in ((16, 128), (128, 8)))
    m = tcnum.model("ampere")[name]

    def part(a, b):
        d = np.zeros((16, 8), np.float32)
        for k in range(0, 64, 16):
            d = m.execute(a[:, k : k + 16], b[k : k + 16], d)
        return torch.from_numpy(d)

    found = tcnum.match(a, b, lambda a, b: part(a[:, :64], b[:64]) + part(a[:, 64:], b[64:]), models="ampere", instr=name)
    assert found.holds and any("split-k of 2 parts of 64" in row["schedule"] for row in found["matches"])
