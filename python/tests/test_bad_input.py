"""Tests that bad input raises an exception with a clear message and never crashes."""

import numpy as np
import pytest

import tcnum

F16 = "mma.m16n8k16.f32.f16.f16.f32"
ONES = np.ones(16, np.float16)
model = tcnum.model("hopper")[F16]

WRONG = {
    "an unknown format": (lambda: tcnum.encode([1.0], "fp8-e4m4"), ValueError, "nearest"),
    "a format that is no name": (lambda: tcnum.encode([1.0], 3), TypeError, "a format or its name"),
    "a block format": (lambda: tcnum.encode([1.0], "mxfp4"), TypeError, "tcnum.quantise"),
    "an unknown rounding": (lambda: tcnum.encode([1.0], "e4m3", rounding="UP"), ValueError, "RNE"),
    "a rounding that is no name": (lambda: tcnum.encode([1.0], "e4m3", rounding=1), TypeError, "string"),
    "an unknown overflow": (lambda: tcnum.encode([1.0], "e4m3", overflow="wrap"), ValueError, "saturate"),
    "objects": (lambda: tcnum.encode(np.array([1.0, None], object), "e4m3"), TypeError, "object"),
    "text": (lambda: tcnum.encode("1.0", "e4m3"), TypeError, "str"),
    "an array of text": (lambda: tcnum.encode(np.array(["1"]), "e4m3"), TypeError, "expected"),
    "complex numbers": (lambda: tcnum.encode(np.ones(2, complex), "e4m3"), TypeError, "complex"),
    "truth values": (lambda: tcnum.encode(np.ones(2, bool), "e4m3"), TypeError, "bool"),
    "dates": (lambda: tcnum.encode(np.array(["2020"], "M8[D]"), "e4m3"), TypeError, "datetime"),
    "records": (lambda: tcnum.encode(np.zeros(2, [("x", "f4")]), "e4m3"), TypeError, "void"),
    "long doubles": (lambda: tcnum.encode(np.ones(2, np.longdouble), "e4m3"), TypeError, "float128|longdouble"),
    "nothing": (lambda: tcnum.encode(None, "e4m3"), TypeError, "NoneType"),
    "rows of unequal length": (lambda: tcnum.encode([[1.0], [1.0, 2.0]], "e4m3"), TypeError, "array"),
    "codes as values": (lambda: tcnum.encode(np.ones(2, np.uint8), "e4m3"), TypeError, "codes"),
    "values as codes": (lambda: tcnum.decode(np.ones(2, np.float32), "e4m3"), TypeError, "uint8"),
    "codes of another size": (lambda: tcnum.decode(np.ones(2, np.uint16), "e4m3"), TypeError, "uint8"),
    "codes that are too wide": (lambda: tcnum.decode(np.uint8([255]), "e2m1"), ValueError, "4 bits"),
    "NaN where there is none": (lambda: tcnum.encode([np.nan], "e2m1"), ValueError, "no code"),
    "room of another type": (lambda: tcnum.encode([1.0], "e4m3", out=np.zeros(1, np.int8)), TypeError, "out"),
    "room of another shape": (lambda: tcnum.encode(np.float32([1]), "e4m3", out=np.zeros(2, np.uint8)), TypeError, "out"),
    "room that is read-only": (
        lambda: tcnum.encode(np.float32([1]), "e4m3", out=np.broadcast_to(np.uint8(0), (1,))),
        ValueError,
        "writeable",
    ),
    "room with gaps": (lambda: tcnum.encode(np.ones(2, "f4"), "e4m3", out=np.zeros(4, "u1")[::2]), ValueError, "contiguous"),
    "random bits for another rounding": (lambda: tcnum.encode([1.0], "e4m3", random=np.uint64([1])), TypeError, "SR"),
    "random bits of another type": (
        lambda: tcnum.encode(np.float32([1]), "e4m3", rounding="SR", random=[1]),
        TypeError,
        "uint64",
    ),
    "no random bits": (lambda: tcnum.encode([1.0], "e4m3", rounding="SR"), TypeError, "random"),
    "too many random bits": (
        lambda: tcnum.encode(np.float32([1]), "e4m3", rounding="SR", random=np.uint64([1]), random_bits=65),
        ValueError,
        "1 to 64",
    ),
    "an unknown rule": (lambda: tcnum.quantise([1.0], "mxfp4", rule="flor"), ValueError, "floor"),
    "a rule for a plain format": (lambda: tcnum.quantise([1.0], "e4m3", rule="floor"), TypeError, "block formats"),
    "an unknown sharing": (lambda: tcnum.quantise([1.0], "e4m3", per="column"), ValueError, "ROWSxCOLUMNS"),
    "a row for a block format": (lambda: tcnum.quantise([1.0], "nvfp4", per="row"), ValueError, "ROWSxCOLUMNS"),
    "scales for a wide format": (lambda: tcnum.quantise([1.0], "bf16", per="row"), ValueError, "at most 8"),
    "a seed that is too large": (lambda: tcnum.quantise([1.0], "e4m3", round="SR", seed=2**64), ValueError, "seed"),
    "a seed that is no number": (lambda: tcnum.quantise([1.0], "e4m3", round="SR", seed="x"), TypeError, "seed"),
    "an unknown rounding of elements": (lambda: tcnum.quantise([1.0], "e4m3", round="UP"), ValueError, "RNE"),
    "a scale for a format without one": (lambda: tcnum.quantise([1.0], "mxfp4", tensor_scale=1), ValueError, "no scale of the tensor"),
    "a scale that is negative": (lambda: tcnum.quantise([1.0], "nvfp4", tensor_scale=-1), ValueError, "positive"),
    "NaN under one scale": (lambda: tcnum.quantise([1.0, np.nan], "e4m3", per="tensor"), ValueError, "one scale for all"),
    "an axis that there is not": (lambda: tcnum.quantise([1.0], "mxfp4", axis=1), ValueError, "no axis 1"),
    "an axis that is no number": (lambda: tcnum.quantise([1.0], "mxfp4", axis="x"), TypeError, "axis"),
    "an unknown model": (lambda: tcnum.model("hoper"), ValueError, "hopper"),
    "a model that is no name": (lambda: tcnum.model(3), TypeError, "string"),
    "a model that is no model": (lambda: tcnum.model("name = 'x'\nversion = 1"), ValueError, "title"),
    "an unknown instruction": (lambda: tcnum.model("hopper")["mma"], ValueError, "mma"),
    "an instruction that is no name": (lambda: tcnum.model("hopper")[3], TypeError, "string"),
    "an instruction of another GPU": (lambda: tcnum.model("volta")[F16], ValueError, "volta"),
    "a described instruction without k": (lambda: tcnum.instruction("x", m=1, n=1, a="f16", d="f32"), TypeError, "k"),
    "an instruction of a bad name": (lambda: tcnum.instruction('x"y', m=1, n=1, k=1, a="f16", d="f32"), ValueError, "name"),
    "too many terms": (lambda: model.dot(np.ones(17, np.float16), ONES), ValueError, "16"),
    "a single number": (lambda: model.dot(1.0, ONES), ValueError, "single"),
    "operands that cannot be broadcast": (lambda: model.dot(np.ones((2, 16)), np.ones((3, 16))), ValueError, "broadcast"),
    "codes of another width": (lambda: model.dot(np.ones(16, np.uint8), ONES), TypeError, "uint16"),
    "positions of a dense form": (lambda: model.dot(ONES, ONES, positions=[0]), ValueError, "not sparse"),
    "scales of a plain form": (lambda: model.dot(ONES, ONES, scale_a=[1]), ValueError, "no block scales"),
    "tiles without columns": (lambda: model.execute(ONES, ONES), ValueError, "rows and columns"),
    "several cases to explain": (lambda: model.explain(np.ones((2, 16)), ONES), ValueError, "one case"),
    "an unknown device": (lambda: tcnum.verify("modl:hopper", instr=F16), ValueError, "model:"),
    "a device that is neither": (lambda: tcnum.verify(object(), instr=F16), TypeError, "a device"),
    "a function without an instruction": (lambda: tcnum.verify(max), TypeError, "instr"),
    "a function that cannot be asked": (lambda: tcnum.device(3), TypeError, "function"),
    "a function of one operand": (lambda: tcnum.device(max, operands=1), TypeError, "2"),
    "cases that are none": (lambda: tcnum.verify("model:hopper", instr=F16, cases=-1), ValueError, "cases"),
    "an option that there is not": (lambda: tcnum.verify("model:hopper", instr=F16, casses=1), ValueError, "casses"),
    "a command that there is not": (lambda: tcnum.command("verfy"), ValueError, "verfy"),
    "a word that is none": (lambda: tcnum.command("formats", [1]), TypeError, "word"),
    "two words for one thing": (lambda: tcnum.identify(max, instr=F16, k=3), TypeError, "instr"),
    "a product that is too large": (lambda: tcnum.tree(np.matmul, k=10**9), ValueError, "k is"),
    "a trace that there is not": (lambda: tcnum.verify("trace:/nowhere.safetensors"), ValueError, "nowhere"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said(what):
    call, error, says = WRONG[what]
    with pytest.raises(error, match=says) as raised:
        call()
    assert isinstance(raised.value, (tcnum.Error, TypeError, ValueError)) and str(raised.value)
    # Messages name parameters, not options of the command line.
    assert " --" not in str(raised.value)


def test_a_failed_call_leaves_the_next_one_as_it_was():
    for _ in range(3):
        with pytest.raises(ValueError):
            tcnum.verify("model:nothing", instr=F16)
        assert tcnum.verify("model:hopper", instr=F16, cases=128).holds


def any_value(dice):
    """Something that a call might be given."""
    shape = dice.choice([(), (0,), (1,), (16,), (2, 16), (3, 0), (4, 4), (1, 2, 8)])
    kind = dice.choice(["f2", "f4", "f8", ">f4", "u1", "u2", "u4", "u8", "i1", "i4", "i8", "?", "O", "c8", "U3", "M8[s]", "g"])
    array = np.zeros(shape, kind)
    if array.dtype.kind in "fiu" and array.size:
        raw = dice.randbytes(array.nbytes)
        array = np.frombuffer(raw, kind).reshape(shape).copy()
    if dice.random() < 0.3 and array.ndim:
        array = array[::-1] if dice.random() < 0.5 else array.T
    if dice.random() < 0.1:
        array.flags.writeable = False
    words = ["e4m3", "f16", "bf16", "mxfp4", "nvfp4", "RNE", "rz", "", "\0", "x" * 1000, F16, "model:hopper", "../x.toml", "e4m3.toml"]
    others = [None, True, -1, 0, 3, 1e308, float("nan"), 2**70, b"x", [], [[1], [2, 3]], {}, object(), max, "e4m3", ONES, tcnum.formats["e4m3"]]
    return dice.choice([array, array, array, dice.choice(words), dice.choice(others)])


def test_no_call_ends_the_program(calls, dice):
    """Random arguments to every function: results, or exceptions that say what was wrong."""
    m = {name: tcnum.model("hopper")[name] for name in (F16, "mma.m16n8k16.s32.s8.u8.s32.satfinite", "wgmma.m64n8k32.f32.e4m3.e4m3")}
    functions = [
        lambda *given, **more: tcnum.encode(*given[:2], **more),
        lambda *given, **more: tcnum.decode(*given[:2]),
        lambda *given, **more: tcnum.quantise(*given[:2], **{key: more[key] for key in more if key in ("per", "rule", "axis", "round", "seed")}),
        lambda *given, **more: dice.choice(list(m.values())).dot(*given[:3]),
        lambda *given, **more: dice.choice(list(m.values())).execute(*given[:3], quantise=True),
        lambda *given, **more: dice.choice(list(m.values())).explain(*given[:3]),
        lambda *given, **more: tcnum.formats[given[0]],
        lambda *given, **more: tcnum.instruction(given[0], **({"m": 1, "n": 1, "k": given[1], "a": "f16", "d": given[2]} if dice.random() < 0.5 else {})),
        lambda *given, **more: tcnum.gemm(*given[:2], instr=F16, device="model:hopper", quantise=True, promote=given[2]),
        lambda *given, **more: tcnum.model(given[0]),
        lambda *given, **more: tcnum.command("convert", given[0], to=given[1]),
        lambda *given, **more: tcnum.command("calc", given[0], given[1], fmt=given[2], op="add"),
    ]
    usual = [np.float32([0.5, -1.0]), np.ones((2, 16), np.float16), np.ones((16, 2), np.float16), "e4m3", "mxfp4", np.uint8([1, 2])]
    raised = 0
    for _ in range(calls):
        given = [any_value(dice) if dice.random() < 0.6 else dice.choice(usual) for _ in range(3)]
        more = {key: any_value(dice) for key in ("rounding", "overflow", "out", "random", "per", "rule", "axis", "round", "seed") if dice.random() < 0.1}
        if dice.random() < 0.3:
            given[1] = dice.choice(["e4m3", "bf16", "f16", "e2m1", "f64", "s8", "mxfp4", "nvfp4"])
        try:
            dice.choice(functions)(*given, **more)
        except (tcnum.Error, TypeError, ValueError) as error:
            raised += 1
            assert str(error)
    assert 0 < raised < calls


def test_callbacks_of_every_kind_are_dealt_with(calls, dice):
    instr = "mma.m16n8k8.f32.f16.f16.f32"
    for _ in range(max(20, calls // 200)):
        gives = any_value(dice)
        with pytest.raises((tcnum.DeviceError, TypeError, ValueError)):
            tcnum.verify(tcnum.device(lambda a, b, c: gives, codes=dice.random() < 0.5), "hopper", instr=instr, cases=128)
