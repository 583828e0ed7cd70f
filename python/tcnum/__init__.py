"""Numeric behaviour of low-precision formats and of GPU matrix instructions, on arrays.

>>> import tcnum
>>> tcnum.formats["e4m3"].max
448.0
>>> tcnum.encode([0.1, -2.5, 464.0], "e4m3")
array([ 29, 194, 126], dtype=uint8)
>>> m = tcnum.model("hopper")["wgmma.m64n8k32.f32.e4m3.e4m3"]
>>> float(m.dot([256, 1], [256, 1], 0))
65536.0

`tcnum.command("probe", fmt="bf16", op="accumulate")` runs any command of the program.

Errors are `tcnum.RequestError` (a ValueError: the request is wrong), `tcnum.DeviceError` (a RuntimeError: a device failed), both
subclasses of `tcnum.Error`, and TypeError.
"""

from typing import TYPE_CHECKING

from ._tcnum import VERSION as __version__
from ._tcnum import BlockFormat, DeviceError, Error, Format, Instruction, RequestError

if TYPE_CHECKING:
    from ._capture import Captures, capture
    from ._commands import command, devices, distinguish, identify, instructions, tree, verify
    from ._convert import decode, encode
    from ._devices import FunctionDevice, device
    from ._emulate import emulate
    from ._formats import formats
    from ._instructions import instruction
    from ._models import Arithmetic, Model, model, models
    from ._products import Product, assert_product, check, gemm, match
    from ._quantise import Quantised, quantise
    from ._reports import Report, Table

# The module of each name. Modules that need NumPy are imported at first use.
_HOMES = {
    "_capture": ["Captures", "capture"],
    "_commands": ["command", "devices", "distinguish", "identify", "instructions", "tree", "verify"],
    "_convert": ["decode", "encode"],
    "_devices": ["FunctionDevice", "device"],
    "_emulate": ["emulate"],
    "_formats": ["formats"],
    "_instructions": ["instruction"],
    "_models": ["Arithmetic", "Model", "model", "models"],
    "_products": ["Product", "assert_product", "check", "gemm", "match"],
    "_quantise": ["Quantised", "quantise"],
    "_reports": ["Report", "Table"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(
    [*_HOME, "BlockFormat", "DeviceError", "Error", "Format", "Instruction", "RequestError", "__version__", "main"]
)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'tcnum' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__


def main() -> int:
    """Runs the command line of this process as `tcnum`, and returns its exit status."""
    import signal
    import sys

    from ._tcnum import main as run

    # The program handles signals itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["tcnum", *sys.argv[1:]])
