"""Captures of products: what is in the file, and what is refused."""

import json
import os
import struct
import sys
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import tcnum

TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "int8": "I8",
    "int32": "I32",
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "captures.safetensors"


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: TCNUM_TORCH=1 tools/python installs it")


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax", reason="JAX is not installed: TCNUM_TORCH=1 tools/python installs it")


def dtype(name):
    """A type of NumPy or of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))


def read(file):
    """Tensors as pairs of type and codes, and the metadata, by the description of safetensors files."""
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    widths = {"F64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2}
    tensors, end = {}, 8 + length
    for name, own in header.items():
        first, last = (8 + length + at for at in own["data_offsets"])
        assert first == end
        end = last
        codes = np.frombuffer(data[first:last], f"<u{widths.get(own['dtype'], 1)}")
        tensors[name] = own["dtype"], codes.reshape(own["shape"])
    assert end == len(data)
    return tensors, metadata


def codes(array):
    return array.view(f"u{array.dtype.itemsize}")


def normal(rng, *shape, of="float32"):
    return rng.standard_normal(shape).astype(np.float32).astype(dtype(of))


def spread(extent, count):
    return [at * (extent - 1) // (count - 1) for at in range(count)]


@pytest.mark.parametrize("name", TYPES)
def test_elements_are_kept_bit_for_bit(name, file, rng):
    a, b = normal(rng, 5, 7, of=name), normal(rng, 7, 3, of=name)
    d = tcnum.capture(lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype(name)), a, b, file=file, name="x")
    tensors, metadata = read(file)
    assert list(tensors) == ["x.a", "x.b", "x.d"]
    for part, own in (("a", a), ("b", b), ("d", d)):
        assert tensors[f"x.{part}"][0] == TYPES[name] and np.array_equal(tensors[f"x.{part}"][1], codes(own))
    assert metadata["tcnum.capture"] == "1" and metadata["numpy"] == np.__version__
    assert json.loads(metadata["x"]) == {"call": "", "kernels": [], "m": 5, "n": 3, "k": 7}


def test_rows_and_columns_are_spread_over_the_product(file, rng):
    a, b, c, bias = (normal(rng, *shape) for shape in ((200, 16), (16, 300), (200, 300), (300,)))
    scale_a, scale_b = normal(rng, 200, 2), normal(rng, 2, 3)
    tcnum.capture(
        lambda: a @ b, a, b, file=file, name="x", rows=9, columns=33, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b, call="some"
    )
    tensors, metadata = read(file)
    rows, columns = spread(200, 9), spread(300, 33)
    assert (rows[0], rows[-1], columns[-1]) == (0, 199, 299)
    blocks = [column // 128 for column in columns]
    wanted = {
        "a": a[rows],
        "b": b[:, columns],
        "d": (a @ b)[rows][:, columns],
        "c": c[rows][:, columns],
        "bias": bias[None, columns],
        "scale_a": scale_a[rows],
        "scale_b": scale_b[:, blocks],
    }
    assert {f"x.{part}" for part in wanted} == set(tensors)
    for part, own in wanted.items():
        assert np.array_equal(tensors[f"x.{part}"][1], codes(np.ascontiguousarray(own))), part
    assert json.loads(metadata["x"]) == {"call": "some", "kernels": [], "m": 200, "n": 300, "k": 16}


def test_all_rows_are_kept_where_none_is_chosen(file, rng):
    a, b = normal(rng, 150, 4), normal(rng, 4, 70)
    tcnum.capture(np.matmul, a, b, file=file, name="x", rows=None, columns=1)
    tensors, metadata = read(file)
    assert np.array_equal(tensors["x.a"][1], codes(a)) and tensors["x.d"][1].shape == (150, 1)
    assert json.loads(metadata["x"])["call"] == "matmul"


@pytest.mark.parametrize(
    "order", [np.ascontiguousarray, np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x.astype(">f4")]
)
def test_the_order_of_elements_in_memory_does_not_matter(order, file, rng):
    a, b = normal(rng, 6, 8), normal(rng, 8, 5)
    tcnum.capture(np.matmul, order(a), order(b), file=file, name="x")
    tensors, _ = read(file)
    assert np.array_equal(tensors["x.a"][1], codes(a)) and np.array_equal(tensors["x.b"][1], codes(b))


def test_a_batch_is_a_product_for_each_matrix(file, rng):
    a, b, c, bias = normal(rng, 3, 4, 8), normal(rng, 8, 5), normal(rng, 3, 4, 5), normal(rng, 5)
    d = tcnum.capture(lambda: a @ b, a, b, file=file, name="x", c=c, bias=bias)
    tensors, metadata = read(file)
    assert [name for name in tensors if name.endswith(".d")] == ["x.0.d", "x.1.d", "x.2.d"]
    for at in range(3):
        for part, own in (("a", a[at]), ("b", b), ("c", c[at]), ("d", d[at]), ("bias", bias[None])):
            assert np.array_equal(tensors[f"x.{at}.{part}"][1], codes(own))
        assert json.loads(metadata[f"x.{at}"])["m"] == 4


def test_vectors_are_rows_of_a_and_columns_of_b(file, rng):
    a, b, x = normal(rng, 4, 8), normal(rng, 8, 5), normal(rng, 8)
    for name, left, right, shape in (("mv", a, x, (4, 1)), ("vm", x, b, (1, 5)), ("dot", x, x, (1, 1))):
        tcnum.capture(np.matmul, left, right, file=file, name=name)
        assert read(file)[0][f"{name}.d"][1].shape == shape


def test_a_single_scale_is_one_by_one(file, rng):
    a, b = normal(rng, 100, 8), normal(rng, 8, 100)
    for at, scale in enumerate((np.float32(0.5), np.full(1, 0.5, np.float32), np.full((1, 1), 0.5, np.float32))):
        tcnum.capture(np.matmul, a, b, file=file, name=f"x{at}", scale_a=scale, scale_b=scale)
        assert all(read(file)[0][f"x{at}.{part}"][1].tolist() == [[0x3F000000]] for part in ("scale_a", "scale_b"))


def test_products_are_appended_and_names_are_new(file, rng):
    a, b = normal(rng, 4, 8), normal(rng, 8, 5)
    for _ in range(2):
        assert np.array_equal(tcnum.capture(np.matmul, a, b, file=file), a @ b)
    tcnum.capture(np.matmul, a[None], b, file=str(file), name="batch")
    assert tcnum.Captures(file).names == ["product0", "product1", "batch.0"]
    before = file.read_bytes()
    for taken in ("product1", "batch", "batch.0"):
        with pytest.raises(tcnum.RequestError, match=f"has a product '{taken}' already"):
            tcnum.capture(np.matmul, a, b, file=file, name=taken)
    assert file.read_bytes() == before and os.listdir(file.parent) == [file.name]


def test_a_file_of_several_products_is_written_at_the_end(file, rng):
    a, b = normal(rng, 4, 8), normal(rng, 8, 5)
    with tcnum.Captures(file) as captures:
        for name in ("x", "y"):
            tcnum.capture(np.matmul, a, b, file=captures, name=name)
        assert not file.exists()
    assert captures.names == tcnum.Captures(file).names == ["x", "y"] and "2 products" in repr(captures)
    before = file.read_bytes()
    with pytest.raises(KeyError), tcnum.Captures(file) as captures:
        tcnum.capture(np.matmul, a, b, file=captures, name="z")
        raise KeyError
    assert file.read_bytes() == before
    with pytest.raises(tcnum.RequestError, match="is not open"):
        tcnum.capture(np.matmul, a, b, file=captures, name="z")


def test_a_function_is_called_with_what_it_takes(file, rng):
    a, b = normal(rng, 4, 8), normal(rng, 8, 5)

    class Layer:
        def __call__(self):
            return a @ b

    for f in (np.matmul, np.dot, lambda: a @ b, lambda x, y: x @ y, lambda *all: a @ b, Layer()):
        tcnum.capture(f, a, b, file=file)
    assert len(tcnum.Captures(file).names) == 6
    with pytest.raises(TypeError, match="f takes"):
        tcnum.capture(lambda x: x @ b, a, b, file=file)

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tcnum.capture(fails, a, b, file=file)


ONES = np.ones((2, 3), np.float32)
TURNED = np.ones((3, 2), np.float32)
WRONG = {
    "operands that do not fit": ({"b": ONES}, ValueError, "b needs as many rows as a has columns"),
    "another D": ({"f": lambda: np.ones((2, 3), np.float32)}, ValueError, "D has the shape"),
    "an operand of four dimensions": ({"a": np.ones((1, 1, 2, 3), np.float32)}, ValueError, "a has the shape"),
    "an operand without elements": ({"a": ONES[:0]}, ValueError, "a has the shape"),
    "batches of unequal length": (
        {"a": np.ones((2, 2, 3), np.float32), "b": np.ones((3, 3, 2), np.float32)},
        ValueError,
        "a has 2 matrices, and b 3",
    ),
    "a batch of other addends": (
        {"f": lambda: np.ones((2, 2, 2), np.float32), "a": np.ones((2, 2, 3), np.float32), "c": np.ones((3, 2, 2), np.float32)},
        ValueError,
        "c has 3 matrices",
    ),
    "complex operands": ({"a": ONES.astype(complex)}, ValueError, "a is an array of complex128"),
    "a D of truth values": ({"f": lambda: np.ones((2, 2), bool)}, ValueError, "D is an array of bool"),
    "codes": ({"b": TURNED.astype(np.uint8)}, ValueError, "b is an array of uint8"),
    "a list": ({"a": [[1.0]]}, TypeError, "a is list"),
    "a D that is a tuple": ({"f": lambda: (ONES,)}, TypeError, "D is tuple"),
    "another C": ({"c": ONES}, ValueError, "c has the shape"),
    "another bias": ({"bias": np.ones(3, np.float32)}, ValueError, "bias has the shape"),
    "scales of no blocks": ({"scale_a": np.ones((5, 1), np.float32)}, ValueError, "scale_a has the shape"),
    "more scales than terms": ({"scale_b": np.ones((4, 1), np.float32)}, ValueError, "scale_b has the shape"),
    "no function": ({"f": ONES}, TypeError, "f is ndarray"),
    "no rows": ({"rows": 0}, ValueError, "rows is 0"),
    "columns that are no number": ({"columns": True}, ValueError, "columns is True"),
    "a name of the file's own": ({"name": "torch"}, ValueError, "cannot be the name"),
    "an empty name": ({"name": ""}, ValueError, "cannot be the name"),
    "a name that is no text": ({"name": 3}, TypeError, "a string"),
    "another ending": ({"file": "x.npy"}, ValueError, "ends in .safetensors"),
    "a folder that is missing": ({"file": "nowhere/x.safetensors"}, ValueError, "cannot be written"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_requests_write_nothing(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes, error, says = WRONG[case]
    arguments = {"f": lambda: ONES @ TURNED, "a": ONES, "b": TURNED, "file": "x.safetensors", **changes}
    with pytest.raises(error, match=says):
        tcnum.capture(**arguments)
    assert os.listdir(tmp_path) == []


def test_files_of_others_are_not_overwritten(file):
    tcnum.capture(np.matmul, ONES, TURNED, file=file, name="x")
    captured = file.read_bytes()
    unmarked = json.dumps({"w": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}).encode()
    for other, says in (
        (b"text", "not a file of captures"),
        (struct.pack("<Q", len(unmarked)) + unmarked, "not a file of captures"),
        (captured[:-1], "truncated"),
        (captured.replace(b'capture": "1"', b'capture": "2"'), "version 2"),
        (captured.replace(np.__version__.encode(), b"9" * len(np.__version__)), "numpy 999"),
    ):
        assert other != captured
        file.write_bytes(other)
        with pytest.raises(tcnum.RequestError, match=says):
            tcnum.capture(np.matmul, ONES, TURNED, file=file, name="y")
        assert file.read_bytes() == other


def test_a_captured_product_is_matched(file, rng):
    """What is kept of a product has the schedule of the whole product."""
    a, b = normal(rng, 90, 128, of="float16"), normal(rng, 128, 100, of="float16")
    i = "mma.m16n8k16.f32.f16.f16.f32"
    tcnum.capture(lambda: tcnum.gemm(a, b, device="model:ampere", instr=i, split_k=2).values, a, b, file=file, name="x", rows=16)
    words = [f"{file}:x.d", "--a", f"{file}:x.a", "--b", f"{file}:x.b"]
    assert tcnum.command("gemm", "match", *words, model="ampere", instr=i).holds


def test_kernels_are_those_of_the_third_call(file, rng, monkeypatch):
    """A stand-in for PyTorch with CUDA, whose profiler has events out of order."""
    a, b = normal(rng, 4, 8), normal(rng, 8, 5)
    calls, profiled = [], []

    def event(name, start, device="gpu", mark=False):
        return SimpleNamespace(name=name, device_type=device, time_range=SimpleNamespace(start=start), is_user_annotation=mark)

    class Profile:
        def __init__(self, activities):
            assert activities == ["kernels"]

        def __enter__(self):
            profiled.append(len(calls))
            return self

        def __exit__(self, *error):
            profiled.append(len(calls))

        def events(self):
            on_gpu = [event("reduce", 5), event("gemm", 3), event("Memcpy HtoD", 1), event("Memset", 2), event("region", 2, mark=True)]
            return [event("aten::mm", 0, device="cpu"), *on_gpu]

    torch, profiler = ModuleType("torch"), ModuleType("torch.profiler")
    torch.Tensor, torch.__version__ = type("Tensor", (), {}), "9.1"
    torch.version = SimpleNamespace(cuda="13.0", hip=None)
    torch.cuda = SimpleNamespace(is_available=lambda: True, synchronize=lambda: None, get_device_name=lambda device: "some GPU")
    torch.autograd = SimpleNamespace(DeviceType=SimpleNamespace(CUDA="gpu"))
    profiler.profile, profiler.ProfilerActivity = Profile, SimpleNamespace(CUDA="kernels")
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.profiler", profiler)
    tcnum.capture(lambda: calls.append(0) or a @ b, a, b, file=file, name="x")
    assert profiled == [2, 3] and len(calls) == 3
    _, metadata = read(file)
    assert json.loads(metadata["x"])["kernels"] == ["gemm", "reduce"]
    assert (metadata["torch"], metadata["cuda"], metadata["gpu"]) == ("9.1", "13.0", "some GPU")


@pytest.mark.parametrize("name", TYPES)
def test_tensors_of_torch_are_kept_bit_for_bit(name, torch, file, rng):
    a, b = (torch.from_numpy(rng.integers(-9, 9, shape).astype(np.float32)).to(getattr(torch, name)) for shape in ((7, 70), (80, 7)))
    a, b = a.t(), b.t()
    d = tcnum.capture(lambda: (a.double() @ b.double()).to(a.dtype), a, b, file=file, name="x", columns=5)
    tensors, metadata = read(file)
    columns = spread(80, 5)
    for part, own in (("a", a[spread(70, 64)]), ("b", b.t()[columns].t()), ("d", d[spread(70, 64)].t()[columns].t())):
        kind, stored = tensors[f"x.{part}"]
        assert kind == TYPES[name] and stored.tobytes() == own.contiguous().view(torch.uint8).numpy().tobytes()
    assert metadata["torch"] == torch.__version__


def test_parameters_of_torch_are_operands(torch, file):
    layer = torch.nn.Linear(16, 8)
    x = torch.randn(3, 4, 16)
    d = tcnum.capture(lambda: layer(x), x, layer.weight.t(), file=file, name="x", bias=layer.bias)
    tensors, _ = read(file)
    assert np.array_equal(tensors["x.2.d"][1], codes(d[2].detach().numpy())) and tensors["x.0.bias"][1].shape == (1, 8)
    for wrong in (torch.ones(16, 8, device="meta"), torch.eye(16).to_sparse(), torch.ones(16, 8, dtype=torch.bool)):
        with pytest.raises(tcnum.RequestError, match="b is"):
            tcnum.capture(lambda: layer(x), x, wrong, file=file)


def test_arrays_of_jax_are_kept_bit_for_bit(jax, file, rng):
    a, b = (jax.numpy.asarray(normal(rng, *shape)).astype(jax.numpy.bfloat16) for shape in ((9, 16), (16, 9)))
    d = tcnum.capture(jax.jit(jax.numpy.matmul), a, b, file=file, name="x")
    tensors, metadata = read(file)
    assert tensors["x.d"][0] == "BF16" and np.array_equal(tensors["x.d"][1], codes(np.asarray(d)))
    assert metadata["jax"] == jax.__version__
