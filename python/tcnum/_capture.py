"""Captures of matrix products that other libraries compute."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import re
import secrets
import shutil
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._tcnum import RequestError

# Types of safetensors files, by the names that NumPy, ml_dtypes and PyTorch share.
_TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2": "F8_E5M2",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    "int8": "I8",
    "int32": "I32",
}
_MARK = "tcnum.capture"
_VERSION = "1"
# Metadata that describe the file and not a product.
_LIBRARIES = ("torch", "cupy", "jax", "numpy", "cuda", "hip", "gpu", "driver")
# Bytes of a header, at most, as readers of safetensors files have it.
_LONGEST_HEADER = 100_000_000
_DRIVER = Path("/proc/driver/nvidia/version")


class Captures:
    """A file of captured products, which is written once, at the end of a `with` block.

    Products of an existing file are kept. If the block ends by an exception, the file stays as it was.

    >>> import numpy as np, os, tcnum
    >>> x, w = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    >>> with tcnum.Captures("layers.safetensors") as file:
    ...     up = tcnum.capture(np.matmul, x, w, file=file, name="up")
    ...     down = tcnum.capture(np.matmul, up, w.T, file=file, name="down")
    >>> file.names
    ['up', 'down']
    >>> os.remove("layers.safetensors")
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.path = Path(file)
        if self.path.suffix != ".safetensors":
            raise RequestError(f"{self.path}: the name of a file of captures ends in .safetensors")
        self._open = False
        self._tensors: dict[str, _Tensor] = {}
        self._metadata = {_MARK: _VERSION}
        if self.path.exists():
            self._tensors, self._metadata = _read(self.path)
        self._taken: set[str] = set()
        for name in self.names:
            self._take(name)

    @property
    def names(self) -> list[str]:
        """Names of the products, in the order of their captures."""
        return [name[: -len(".a")] for name in self._tensors if name.endswith(".a")]

    def __enter__(self) -> Captures:
        self._open = True
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._open = False
        if kind is None and self._tensors:
            self._write()

    def __repr__(self) -> str:
        return f"<tcnum.Captures {str(self.path)!r}: {len(self.names)} products>"

    def _take(self, name: str) -> None:
        """Keeps others from a name, and from the name of its batch."""
        batch, _, number = name.rpartition(".")
        self._taken.update([name, batch] if number.isdigit() else [name])

    def _new_name(self, wanted: str | None) -> str:
        """The name of the next product; refuses a name that is taken."""
        if wanted is None:
            return next(name for name in map("product{}".format, itertools.count()) if name not in self._taken)
        if not isinstance(wanted, str):
            raise TypeError(f"the name of a product is a string, not {type(wanted).__name__}")
        if not wanted or wanted in (_MARK, *_LIBRARIES):
            raise RequestError(f"{wanted!r} cannot be the name of a product; choose another")
        if wanted in self._taken:
            raise RequestError(f"{self.path} has a product {wanted!r} already; choose another name, or another file")
        return wanted

    def _add(self, tensors: dict[str, _Tensor], metadata: dict[str, str]) -> None:
        """Takes products and what is known of the libraries, or refuses all of them."""
        for key in _LIBRARIES:
            own, new = self._metadata.get(key), metadata.get(key)
            if None not in (own, new) and own != new:
                raise RequestError(f"{self.path} was captured with {key} {own}, and this is {key} {new}; choose another file")
        self._tensors.update(tensors)
        self._metadata.update(metadata)
        for name in metadata.keys() - set(_LIBRARIES):
            self._take(name)

    def _write(self) -> None:
        """Writes the file, whole or not at all."""
        header: dict[str, Any] = {"__metadata__": self._metadata}
        end = 0
        for name, tensor in self._tensors.items():
            start, end = end, end + len(tensor.data)
            header[name] = {"dtype": tensor.type, "shape": list(tensor.shape), "data_offsets": [start, end]}
        words = json.dumps(header).encode()
        words += b" " * (-len(words) % 8)
        if len(words) > _LONGEST_HEADER:
            raise RequestError(f"{self.path} has more products than one file takes; begin another file")
        path = Path(os.path.realpath(self.path))
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            try:
                with open(part, "xb") as file:
                    file.write(struct.pack("<Q", len(words)) + words)
                    for tensor in self._tensors.values():
                        file.write(tensor.data)
                    file.flush()
                    os.fsync(file.fileno())
                if path.exists():
                    shutil.copymode(path, part)
                os.replace(part, path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise RequestError(f"{self.path}: cannot be written: {error}") from error


def capture(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    file: str | os.PathLike[str] | Captures,
    name: str | None = None,
    rows: int | None = 64,
    columns: int | None = 64,
    c: Any = None,
    bias: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    call: str | None = None,
) -> Any:
    """Calls f, which computes D from a and b, and appends the product to a file for `tcnum gemm match`.

    Takes tensors of PyTorch and arrays of CuPy, JAX and NumPy, on any device. Where PyTorch with CUDA is loaded, f is called three times:
    two calls warm up, and the profiler of the third call has the names of the kernels.

    Args:
        f: a function without parameters, or of a and b.
        a, b: matrices of m x k and k x n elements, or batches of them (three dimensions).
        file: the path of a safetensors file, or a `Captures`, which writes several products at once.
        name: the product's name in the file; the matrices of a batch are NAME.0, NAME.1, ... By default product0, product1, ...
        rows, columns: how many rows and columns of D are kept, spread from the first to the last (None: all).
        c, bias: addends of m x n and n elements.
        scale_a, scale_b: scales: one, one for each row of a or column of b, or one for each block.
        call: the call in words; by default, the name of f.

    Returns D, as f returns it. Raises RequestError, and writes nothing, for shapes that do not fit and types without a format.

    >>> import numpy as np, os, tcnum
    >>> x, w = np.ones((100, 3), np.float32), np.ones((3, 4), np.float32)
    >>> tcnum.capture(np.matmul, x, w, file="calls.safetensors", name="up").shape
    (100, 4)
    >>> os.remove("calls.safetensors")
    """
    for count, of in ((rows, "rows"), (columns, "columns")):
        if count is not None and (isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1):
            raise RequestError(f"{of} is {count!r}; expected a whole number from 1, or None for all {of}")
    captures = file if isinstance(file, Captures) else Captures(file)
    if captures is file and not captures._open:
        raise RequestError(f"{captures.path} is not open; capture inside of `with tcnum.Captures(...) as file:`")
    name = captures._new_name(name)
    given = {"a": a, "b": b, "c": c, "bias": bias, "scale_a": scale_a, "scale_b": scale_b}
    parts = {part: _array(own, part) for part, own in given.items() if own is not None or part in ("a", "b")}
    shape = _Shape.of(parts["a"], parts["b"])
    made, kernels = _called(_function(f, a, b))
    d = _array(made, "D")
    if tuple(d.shape) != shape.d:
        raise RequestError(f"D has the shape {tuple(d.shape)}, and a times b {shape.d}: f computes another product")
    kept = (_spread(shape.m, rows), _spread(shape.n, columns))
    words = call if call is not None else getattr(f, "__name__", type(f).__name__).replace("<lambda>", "")
    about = json.dumps({"call": words, "kernels": kernels, "m": shape.m, "n": shape.n, "k": shape.k})
    tensors: dict[str, _Tensor] = {}
    metadata = _libraries(made)
    for at in range(1 if shape.batch is None else shape.batch):
        own = name if shape.batch is None else f"{name}.{at}"
        one = {part: _of_batch(array, part, at, shape) for part, array in {**parts, "d": d}.items()}
        tensors.update({f"{own}.{part}": _sampled(array, part, shape, kept) for part, array in one.items()})
        metadata[own] = about
    captures._add(tensors, metadata)
    if captures is not file:
        captures._write()
    return made


class _Tensor(NamedTuple):
    """A tensor of a file."""

    type: str
    shape: tuple[int, ...]
    data: bytes


class _Shape(NamedTuple):
    """The shape of a product: m x n elements of k terms; `batch` of them, or one; and the shape of D."""

    m: int
    n: int
    k: int
    batch: int | None
    d: tuple[int, ...]

    @staticmethod
    def of(a: Any, b: Any) -> _Shape:
        for array, name in ((a, "a"), (b, "b")):
            if array.ndim not in (1, 2, 3) or 0 in array.shape:
                raise RequestError(f"{name} has the shape {tuple(array.shape)}; expected a matrix, or a batch of matrices")
        m, k = ((1, *a.shape) if a.ndim == 1 else a.shape)[-2:]
        rows, n = ((*b.shape, 1) if b.ndim == 1 else b.shape)[-2:]
        if k != rows:
            raise RequestError(
                f"a has the shape {tuple(a.shape)}, and b {tuple(b.shape)}: b needs as many rows as a has columns ({k}, not {rows})"
            )
        batches = [int(array.shape[0]) for array in (a, b) if array.ndim == 3]
        if len(set(batches)) > 1:
            raise RequestError(f"a has {batches[0]} matrices, and b {batches[1]}; batches have as many")
        # NumPy's rule for vectors: their dimension is missing in D.
        d = (*batches[:1], *([m] if a.ndim > 1 else []), *([n] if b.ndim > 1 else []))
        return _Shape(int(m), int(n), int(k), batches[0] if batches else None, tuple(int(extent) for extent in d))


def _loaded(name: str) -> Any:
    """A library, if the program has imported it."""
    return sys.modules.get(name)


def _is_torch(given: Any) -> bool:
    torch = _loaded("torch")
    return torch is not None and isinstance(given, torch.Tensor)


def _is_cupy(given: Any) -> bool:
    cupy = _loaded("cupy")
    return cupy is not None and isinstance(given, cupy.ndarray)


def _array(given: Any, name: str) -> Any:
    """The tensor or array of an argument: of PyTorch or CuPy where it is, else of NumPy."""
    if _is_torch(given):
        if str(given.layout) != "torch.strided" or given.device.type == "meta":
            raise RequestError(f"{name} is a tensor of layout {given.layout} on {given.device}; expected one with all elements in memory")
        array = given.detach()
    elif _is_cupy(given):
        array = given
    elif hasattr(given, "dtype") and hasattr(given, "shape"):
        array = np.asarray(given)
    else:
        raise TypeError(f"{name} is {type(given).__name__}; expected a tensor or an array")
    if _type(array) not in _TYPES:
        raise RequestError(f"{name} is an array of {_type(array)}; expected {', '.join(_TYPES)}")
    return array


def _type(array: Any) -> str:
    """The name of the type of the elements."""
    return getattr(array.dtype, "name", None) or str(array.dtype).removeprefix("torch.")


def _function(f: Any, a: Any, b: Any) -> Callable[[], Any]:
    """f without parameters."""
    if not callable(f):
        raise TypeError(f"f is {type(f).__name__}; expected a function that computes D")
    try:
        parameters = inspect.signature(f)
    except (TypeError, ValueError):
        # Functions of compiled libraries do not tell their parameters.
        return lambda: f(a, b)
    for arguments in ((), (a, b)):
        try:
            parameters.bind(*arguments)
        except TypeError:
            continue
        return lambda: f(*arguments)
    raise TypeError(f"f takes {parameters}; expected a function without parameters, or of a and b")


def _called(f: Callable[[], Any]) -> tuple[Any, list[str]]:
    """D, and the names of the kernels that make it, in the order of their launch."""
    torch = _loaded("torch")
    if torch is None or not torch.cuda.is_available():
        return _finished(f()), []
    from torch.profiler import ProfilerActivity, profile

    # The first calls choose algorithms, compile and allocate, by kernels of their own.
    for _ in range(2):
        _finished(f())
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        d = _finished(f())
        torch.cuda.synchronize()
    on_gpu = [event for event in profiled.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    launched = sorted(on_gpu, key=lambda event: event.time_range.start)
    names = [event.name for event in launched if not getattr(event, "is_user_annotation", False)]
    return d, [name for name in names if not name.startswith(("Memcpy", "Memset"))]


def _finished(d: Any) -> Any:
    """D, when it is there: JAX returns before."""
    return d.block_until_ready() if hasattr(d, "block_until_ready") else d


def _spread(extent: int, count: int | None) -> list[int]:
    """Numbers of `count` rows from the first to the last, equally far apart, or of all rows."""
    if count is None or extent <= count:
        return list(range(extent))
    return [at * (extent - 1) // max(count - 1, 1) for at in range(count)]


def _of_batch(array: Any, part: str, at: int, shape: _Shape) -> Any:
    """The matrix of number `at` in a batch; a part of two dimensions is the same for the whole batch."""
    if shape.batch is None or (array.ndim < 3 and part != "d"):
        return array
    if array.shape[0] != shape.batch:
        raise RequestError(f"{part} has {array.shape[0]} matrices, and a times b {shape.batch}; batches have as many")
    return array[at]


def _sampled(array: Any, part: str, shape: _Shape, kept: tuple[list[int], list[int]]) -> _Tensor:
    """The elements of a part that belong to the rows and columns that are kept."""
    m, n, k = shape.m, shape.n, shape.k
    rows, columns = kept
    if part in ("a", "b", "d"):
        extents = {"a": (m, k), "b": (k, n), "d": (m, n)}[part]
        matrix = array.reshape(extents)
        return _chosen(matrix, rows if part != "b" else range(k), columns if part != "a" else range(k))
    if part in ("c", "bias"):
        matrix = array.reshape((1, -1)) if part == "bias" and array.ndim == 1 else array
        wanted = (m, n) if part == "c" else (1, n)
        if tuple(matrix.shape) != wanted:
            raise RequestError(f"{part} has the shape {tuple(array.shape)}; expected {wanted}")
        return _chosen(matrix, rows if part == "c" else [0], columns)
    own, across = (rows, 0) if part == "scale_a" else (columns, 1)
    if array.ndim < 2:
        array = array.reshape((-1, 1) if across == 0 else (1, -1))
    extent = (m, n)[across]
    places = _blocks(extent, array.shape[across], own) if array.ndim == 2 else None
    if places is None or not 1 <= array.shape[1 - across] <= k:
        of = f"each of the {extent} {'rows of a' if across == 0 else 'columns of b'}"
        raise RequestError(f"{part} has the shape {tuple(array.shape)}; expected one scale, or scales for {of} or its blocks")
    along = range(array.shape[1 - across])
    return _chosen(array, *((places, along) if across == 0 else (along, places)))


def _blocks(extent: int, count: int, kept: list[int]) -> list[int] | None:
    """Which of `count` scales belong to the rows that are kept; None if no block size gives this count."""
    if count in (1, extent):
        return [0] if count == 1 else kept
    # The sizes of two blocks differ by a factor of 2, so that only one gives this count.
    sizes = (1 << power for power in range(1, extent.bit_length()))
    size = next((size for size in sizes if -(-extent // size) == count), None)
    return None if size is None else [at // size for at in kept]


def _chosen(matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> _Tensor:
    """The elements at some rows and columns, row by row."""
    shape, kind = (len(rows), len(columns)), _TYPES[_type(matrix)]
    if _is_torch(matrix):
        torch = _loaded("torch")
        # Not every device can index every type, but each can index integers.
        wide = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[matrix.element_size()]
        codes = matrix.view(wide)
        for axis, places in ((0, rows), (1, columns)):
            codes = codes.index_select(axis, torch.tensor(list(places), device=matrix.device))
        taken = codes.cpu().contiguous().numpy()
    else:
        if not matrix.dtype.isnative:
            matrix = matrix.astype(matrix.dtype.newbyteorder("="))
        codes = matrix.view(f"u{matrix.dtype.itemsize}")
        taken = codes.take(list(rows), axis=0).take(list(columns), axis=1)
        taken = taken.get() if _is_cupy(taken) else taken
    return _Tensor(kind, shape, taken.astype(taken.dtype.newbyteorder("<"), copy=False).tobytes())


def _libraries(d: Any) -> dict[str, str]:
    """Versions of the libraries that the program has imported, and the name and driver of the GPU."""
    told = {name: str(_loaded(name).__version__) for name in ("torch", "cupy", "jax", "numpy") if _loaded(name) is not None}
    torch, cupy = _loaded("torch"), _loaded("cupy")
    if torch is not None and torch.cuda.is_available():
        told["gpu"] = torch.cuda.get_device_name(d.device if _is_torch(d) and d.device.type == "cuda" else None)
        told.update({name: version for name in ("cuda", "hip") if (version := getattr(torch.version, name))})
    elif _is_cupy(d):
        told["gpu"] = cupy.cuda.runtime.getDeviceProperties(d.device.id)["name"].decode()
        version = cupy.cuda.runtime.runtimeGetVersion()
        told["cuda"] = f"{version // 1000}.{version % 1000 // 10}"
    elif _loaded("jax") is not None and hasattr(d, "devices"):
        kinds = {device.device_kind for device in d.devices() if device.platform == "gpu"}
        told.update({"gpu": ", ".join(sorted(kinds))} if kinds else {})
    if "gpu" in told and _DRIVER.exists():
        driver = re.search(r"\s(\d+(?:\.\d+)+)\s", _DRIVER.read_text(errors="replace"))
        told.update({"driver": driver[1]} if driver else {})
    return told


def _read(path: Path) -> tuple[dict[str, _Tensor], dict[str, str]]:
    """Tensors and metadata of a file of captures."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path}: cannot be read: {error}") from error
    try:
        start = 8 + struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:start])
        metadata = header.pop("__metadata__")
        version = metadata[_MARK]
        places = {name: (own["dtype"], tuple(own["shape"]), *own["data_offsets"]) for name, own in header.items()}
        tensors = {name: _Tensor(kind, shape, data[start + first : start + end]) for name, (kind, shape, first, end) in places.items()}
        whole = all(0 <= first <= end <= len(data) - start for *_, first, end in places.values())
    except (AttributeError, KeyError, TypeError, ValueError, struct.error) as error:
        raise RequestError(f"{path} is not a file of captures; choose another path") from error
    if not whole:
        raise RequestError(f"{path} is truncated; choose another path")
    if version != _VERSION:
        raise RequestError(f"{path} has captures of version {version}, and this tcnum writes version {_VERSION}; choose another path")
    return dict(sorted(tensors.items(), key=lambda own: places[own[0]][2])), metadata
