"""Conversions of arrays."""

import json

import numpy as np
import pytest

import tcnum

ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = {
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e2m1": "float4_e2m1fn",
}


def halves():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def singles(rng, count=200_000):
    codes = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    near = (rng.standard_normal(count) * 2.0 ** rng.integers(-20, 20, count)).astype(np.float32)
    return np.concatenate([codes.view(np.float32), near])


def same(ours, theirs):
    """Equal codes; of two NaNs any are."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    both = np.isnan(ours.astype(np.float32)) & np.isnan(theirs.astype(np.float32))
    size = f"u{ours.dtype.itemsize}"
    return bool(np.all((ours.view(size) == theirs.view(size)) | both))


@pytest.mark.parametrize("name", TYPES)
def test_codes_are_those_of_ml_dtypes(name, rng):
    kind = np.dtype(getattr(ml_dtypes, TYPES[name]))
    own = tcnum.formats[name]
    with np.errstate(all="ignore"):
        for values in (halves().astype(np.float32), singles(rng)):
            if not own.has_nan:
                values = values[~np.isnan(values)]
            codes = tcnum.encode(values, name)
            assert codes.dtype == np.dtype(f"u{own.bytes}")
            theirs = values.astype(kind)
            mask = np.uint8((1 << own.bits) - 1) if own.bits < 8 else None
            if mask is None:
                assert same(codes.view(kind), theirs)
            else:
                assert np.array_equal(codes, theirs.view(np.uint8) & mask)


@pytest.mark.parametrize("name", TYPES)
def test_values_are_those_of_ml_dtypes(name):
    own = tcnum.formats[name]
    codes = np.arange(1 << own.bits, dtype=f"u{own.bytes}")
    theirs = codes.view(getattr(ml_dtypes, TYPES[name])).astype(np.float32)
    assert np.array_equal(tcnum.decode(codes, name), theirs, equal_nan=True)
    # The element type gives the format, so the array is used unchanged.
    assert np.array_equal(tcnum.decode(codes.view(getattr(ml_dtypes, TYPES[name])), name), theirs, equal_nan=True)


def test_half_precision_is_that_of_numpy(rng):
    values = singles(rng)
    with np.errstate(all="ignore"):
        theirs = values.astype(np.float16)
    assert same(tcnum.encode(values, "f16").view(np.float16), theirs)
    assert np.array_equal(tcnum.decode(theirs.view(np.uint16), "f16"), theirs, equal_nan=True)


def test_doubles_are_rounded_once():
    # To f32 first, 1 + 2^-4 + 2^-40 would be a tie of e4m3, which goes to 1.
    assert tcnum.encode(np.float64([1 + 2.0**-4 + 2.0**-40]), "e4m3").tolist() == [0x39]
    assert tcnum.encode(np.float64([1e-320, 1e300]), "f64").view(np.float64).tolist() == [1e-320, 1e300]
    blocks = tcnum.quantise(np.float64([1 + 2.0**-4 + 2.0**-40, 1.75]), "mxfp8-e4m3")
    assert blocks.values.tolist() == [1.125, 1.75]


def test_every_layout_gives_the_same_codes(rng):
    values = rng.standard_normal((6, 8)).astype(np.float32)
    expected = tcnum.encode(values, "e4m3")
    locked = values.copy()
    locked.flags.writeable = False
    for other in (
        values.astype(">f4"),
        np.asfortranarray(values),
        np.repeat(values, 2, axis=1)[:, ::2],
        values[::-1][::-1],
        locked,
        values.astype(np.float64),
        values.tolist(),
        np.lib.stride_tricks.as_strided(values, values.shape, values.strides),
    ):
        assert np.array_equal(tcnum.encode(other, "e4m3"), expected)
    assert tcnum.encode(values.T, "e4m3").tolist() == expected.T.tolist()
    assert tcnum.encode(np.empty((0, 3), np.float32), "e4m3").shape == (0, 3)
    assert tcnum.encode(np.float32(1), "e4m3").shape == ()


def test_nothing_is_copied_where_formats_allow():
    values = np.ones(1000, np.float32)
    room = np.zeros(1000, np.uint8)
    assert tcnum.encode(values, "e4m3", out=room) is room and room[0] == 0x38
    halves = np.ones(10, np.float16)
    assert np.shares_memory(tcnum.decode(halves.view(np.uint16), "f16"), halves)
    back = np.zeros(1000, np.float32)
    assert tcnum.decode(room, "e4m3", out=back) is back and back[-1] == 1


def test_stochastic_rounding_takes_the_random_bits_that_are_given():
    value = np.float32([1 + 2.0**-9] * 4)  # A quarter of the way from 1 to the next number of bf16.
    random = np.uint64([0, 0xBFFF_FFFF, 0xC000_0000, 0xFFFF_FFFF])
    codes = tcnum.encode(value, "bf16", rounding="SR", random=random)
    assert codes.tolist() == [0x3F80, 0x3F80, 0x3F81, 0x3F81]


def test_blocks_lie_along_the_axis(rng):
    x = rng.standard_normal((64, 5)).astype(np.float32)
    across = tcnum.quantise(x, "mxfp4", axis=0)
    assert across.codes.shape == (64, 5) and across.scales.codes.shape == (2, 5)
    along = tcnum.quantise(x.T, "mxfp4", axis=-1)
    assert np.array_equal(across.values, along.values.T)
    assert np.array_equal(across.scales.codes, along.scales.codes.T)


def test_blocks_are_those_of_the_definition(rng):
    x = rng.standard_normal((4, 64)).astype(np.float32)
    blocks = tcnum.quantise(x, "mxfp8-e4m3", rule="floor")
    amax = np.abs(x.reshape(4, 2, 32)).max(-1)
    exponents = np.floor(np.log2(amax)).astype(int) - 8
    assert np.array_equal(blocks.scales.codes, exponents + 127)
    scaled = x.reshape(4, 2, 32) / 2.0 ** exponents[..., None]
    codes = tcnum.encode(scaled.astype(np.float32), "e4m3", overflow="saturate")
    assert np.array_equal(blocks.codes.reshape(4, 2, 32), codes)
    assert np.asarray(blocks).shape == (4, 64)


class Foreign:
    """An array of another library, as DLPack shows it."""

    def __init__(self, array, place=1):
        self.array, self.place = array, place

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (self.place, 0)


def test_arrays_of_other_libraries_are_taken_where_the_host_has_them():
    assert tcnum.encode(Foreign(np.float32([1, 2])), "e4m3").tolist() == [0x38, 0x40]
    with pytest.raises(tcnum.RequestError, match="copy it to the host"):
        tcnum.encode(Foreign(np.float32([1, 2]), place=2), "e4m3")


def test_formats_are_records():
    e4m3 = tcnum.formats["e4m3"]
    assert (e4m3.max, e4m3.bits, e4m3.bias, e4m3.has_infinity, e4m3.has_nan) == (448, 8, 7, False, True)
    assert tcnum.formats["fp8_e4m3"] == e4m3 and "e4m3" in tcnum.formats and "e12m4" not in tcnum.formats
    assert e4m3.code_of(464.0) == 0x7E and e4m3.value_of(0x7E) == 448
    assert tcnum.formats["nvfp4"].tensor_scale.name == "f32"
    assert {name: tcnum.formats[name].name for name in tcnum.formats}.keys() == set(tcnum.formats)


def test_a_format_of_ones_own_is_a_file(tmp_path):
    file = tmp_path / "e3m4.toml"
    file.write_text('name = "fp8-e3m4"\nexponent_bits = 3\ntrailing_bits = 4\nbias = 3\nzeros = "both"\nspecials = "ieee"\n')
    assert tcnum.formats[str(file)].max == 15.5
    codes = tcnum.encode([1.0, 15.5, 100.0], str(file))
    assert codes.tolist() == [0x30, 0x6F, 0x70]
    assert tcnum.decode(codes, str(file)).tolist() == [1.0, 15.5, np.inf]
    own = tcnum.formats[str(file)]
    assert tcnum.decode(codes, own).tolist() == [1.0, 15.5, np.inf]
    # What the file says now counts.
    file.write_text(file.read_text().replace("bias = 3", "bias = 2"))
    assert tcnum.decode(codes, str(file)).tolist() == [2.0, 31.0, np.inf]


def test_a_type_names_its_format():
    for kind in (np.float16, np.dtype("float16"), "f16"):
        assert tcnum.encode([1.0], kind).tolist() == [0x3C00]
    assert tcnum.encode([1.0], ml_dtypes.bfloat16).tolist() == [0x3F80]


def arrays_of(path):
    """The arrays of a safetensors file, as bytes, by name."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    parts = {name: entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"}
    return {name: data[8 + length :][start:end] for name, (start, end) in parts.items()}


@pytest.mark.parametrize(
    "to, options",
    [
        ("nvfp4", {}),
        ("nvfp4", {"rule": "four-over-six"}),
        ("mxfp4", {"rule": "mse", "round": "RZ"}),
        ("q4-0", {}),
        ("q4-0", {"rule": "mse"}),
        ("q4-0", {"round": "SR", "seed": 3}),
        ("mxfp8-e4m3", {"round": "SR", "seed": 7}),
        ("nvfp4", {"round": "SR", "seed": 2**63}),
        ("e4m3", {"per": "row", "round": "SR", "seed": 1}),
        ("e4m3", {"per": "tensor"}),
        ("e5m2", {"per": "16x64", "rule": "up"}),
        ("fp8-128x128", {}),
        ("nvfp4", {"per": "16x16"}),
        ("s8", {"per": "row"}),
    ],
)
def test_codes_and_scales_are_those_of_the_command(to, options, rng, tmp_path):
    x = (rng.standard_normal((40, 200)) * 2.0 ** rng.integers(-9, 9, (40, 1))).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    flags = {{"rule": "scale_rule"}.get(key, key): value for key, value in options.items()}
    flags = {**flags, "input": tmp_path / "x.npy", "out": tmp_path / "y.safetensors"}
    tcnum.command("convert", to=to, **{key: str(value) for key, value in flags.items()})
    theirs = arrays_of(tmp_path / "y.safetensors")
    q = tcnum.quantise(x, to, **options)
    name = min(theirs, key=len)
    codes = q.codes if q.format.element.bits == 8 else q.codes[:, ::2] | q.codes[:, 1::2] << 4
    assert codes.tobytes() == theirs[name]
    assert q.scales.codes.tobytes() == theirs[f"{name}_scale"]
    if q.tensor_scale is not None:
        assert np.float32(q.tensor_scale).tobytes() == theirs[f"{name}_tensor_scale"]
    assert q.scales.codes.size == q.scales.values.size


def test_a_block_never_has_rows_of_two_matrices(rng):
    x = rng.standard_normal((3, 8, 16)).astype(np.float32) * np.float32([1, 0.1, 0.01])[:, None, None]
    stacked = tcnum.quantise(x, "e4m3", per="4x16")
    each = [tcnum.quantise(own, "e4m3", per="4x16") for own in x]
    assert stacked.scales.codes.shape == (3, 2, 1)
    assert np.array_equal(stacked.values, [own.values for own in each])
    for to, per in [("e4m3", "5x16"), ("e5m2", "3x8")]:
        stacked, each = tcnum.quantise(x, to, per=per), [tcnum.quantise(own, to, per=per) for own in x]
        assert stacked.scales.codes.shape == (3, *each[0].scales.codes.shape)
        assert np.array_equal(stacked.values, [own.values for own in each])
        noise = sum(((own.values - part).astype(np.float64) ** 2).sum() for own, part in zip(each, x))
        assert stacked.sqnr == pytest.approx(10 * np.log10((x.astype(np.float64) ** 2).sum() / noise), abs=1e-3)


@pytest.mark.parametrize("per, of_scales", [("row", (6, 1)), ("tensor", ()), ("3x8", (2, 2)), ("4x16", (2, 1))])
def test_scales_are_the_largest_magnitudes_over_the_largest_number(per, of_scales, rng):
    x = rng.standard_normal((6, 16)).astype(np.float32)
    q = tcnum.quantise(x, "e4m3", per=per)
    rows, columns = {"row": (1, 16), "tensor": (6, 16)}.get(per) or (int(own) for own in per.split("x"))
    each = np.empty_like(x)
    for top in range(0, 6, rows):
        for left in range(0, 16, columns):
            block = np.s_[top : top + rows, left : left + columns]
            each[block] = np.float32(np.abs(x[block]).max().astype(np.float64) / 448)
    assert q.scales.codes.shape == of_scales and q.scales.codes.dtype == np.uint32
    assert np.array_equal(np.unique(q.scales.values), np.unique(each))
    codes = tcnum.encode(x.astype(np.float64) / each, "e4m3", overflow="saturate")
    assert np.array_equal(q.codes, codes)
    assert np.array_equal(q.values, tcnum.decode(codes, "e4m3") * each)
    assert (q.per, q.rule, q.bits) == (per, "nearest", 8 + 32 * q.scales.codes.size / 96)


@pytest.mark.parametrize("to, per", [("nvfp4", None), ("mxfp8", None), ("e4m3", "row"), ("e4m3", "4x4"), ("bf16", None)])
def test_the_ratio_of_signal_to_noise_is_that_of_the_values(to, per, rng, tmp_path):
    x = rng.standard_normal((12, 64)).astype(np.float32)
    q = tcnum.quantise(x, to, per=per)
    error = q.values.astype(np.float64) - x
    # The library compares with the exact products of elements and scales, which `values` has rounded to f32.
    assert q.sqnr == pytest.approx(10 * np.log10((x.astype(np.float64) ** 2).sum() / (error**2).sum()), abs=1e-5)
    np.save(tmp_path / "x.npy", x)
    row = tcnum.command("quantise", str(tmp_path / "x.npy"), to=to, **({} if per is None else {"per": per}))["quantisation"][0]
    assert (row["bits"], row["sqnr"]) == (q.bits, pytest.approx(q.sqnr, abs=1e-3))


def test_exact_values_have_no_noise_and_zeros_no_ratio():
    assert tcnum.quantise([1.0, 2.0], "e4m3").sqnr == np.inf
    assert tcnum.quantise([0.0, 0.0], "nvfp4").sqnr is None
    assert "SQNR" not in repr(tcnum.quantise([0.0], "nvfp4"))


def test_values_of_every_type_are_quantised_alike(rng):
    x = rng.integers(-100, 100, (3, 40)).astype(np.float32)
    expected = tcnum.quantise(x, "nvfp4")
    for kind in (np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int32, ">f4"):
        own = tcnum.quantise(x.astype(kind), "nvfp4")
        assert np.array_equal(own.codes, expected.codes) and np.array_equal(own.scales.codes, expected.scales.codes)
        assert (own.tensor_scale, own.sqnr) == (expected.tensor_scale, pytest.approx(expected.sqnr))


def test_arrays_of_every_shape_have_values_of_that_shape(rng):
    for shape in [(), (1,), (33,), (0,), (0, 5), (5, 0), (2, 3, 40), (2, 6, 4, 8)]:
        x = rng.standard_normal(shape).astype(np.float32)
        for to, per in [("nvfp4", None), ("mxfp4", "4x32"), ("e4m3", "row"), ("e4m3", "tensor"), ("e4m3", "2x2"), ("f16", None)]:
            for axis in {-1, 0, -x.ndim} if x.ndim else {-1}:
                q = tcnum.quantise(x, to, per=per, axis=axis)
                assert q.values.shape == q.codes.shape == shape and q.values.dtype == np.float32, (shape, to, per)
                assert np.all(np.abs(q.values) <= 1.5 * np.abs(x).max(initial=0))
                assert repr(q).startswith(f"<tcnum.Quantised {to}, shape {shape}")


def test_random_roundings_depend_on_the_seed_and_are_right_on_average():
    x = np.full(100_000, 1.03, np.float32)
    made = [tcnum.quantise(x, "e4m3", round="SR", seed=seed) for seed in (1, 1, 2)]
    assert np.array_equal(made[0].codes, made[1].codes) and not np.array_equal(made[0].codes, made[2].codes)
    assert set(made[0].values.tolist()) == {1.0, 1.125} and abs(made[0].values.mean() - 1.03) < 1e-3


def test_formats_of_files_are_quantised_to(tmp_path):
    element, blocks = tmp_path / "mine.toml", tmp_path / "blocks.toml"
    element.write_text('name = "mine4"\nvalues = [' + ", ".join(str(own) for own in range(-8, 8)) + "]\n")
    blocks.write_text(f'name = "mine"\nelement = "{element}"\nblock = 4\nscale = "e8m0"\nrule = "up"\n')
    x = np.float32([[1, 2, 3, 100], [0, -1, 0.5, 7]])
    q = tcnum.quantise(x, str(blocks))
    assert (q.format.name, q.per, q.rule, q.scales.codes.shape) == ("mine", "1x4", "up", (2, 1))
    assert np.array_equal(q.values, tcnum.decode(q.codes, q.format.element) * q.scales.values.repeat(4, -1))
    plain = tcnum.quantise(x, str(element), per="row")
    assert plain.values[1].tolist() == [0, -1, 0, 7]


def test_a_row_of_many_values_can_share_one_scale():
    x = np.zeros(1 << 24, np.float32)
    x[-1] = 448
    q = tcnum.quantise(x, "e4m3", per="tensor")
    assert (q.scales.values.tolist(), q.values[-1], q.sqnr) == (1.0, 448, np.inf)
