"""Damages files: arbitrary bytes, or the structure of text, JSON, TOML, safetensors, npy and GGUF files."""

import copy
import json
import struct

WORDS = [
    b"99999999999999999999999", b"18446744073709551615", b"9223372036854775808", b"-1", b"-0", b"1e999", b"nan", b"0x",
    b"''", b'"', b"\\u0000", b"[[[[[[[[", b'{"a":', b"}}", b",", b"=", b"\n", b"\0", b"\xef\xbb\xbf", b"null", b"\xff",
    b"\x1b[31m", b"\xe2\x80\xae", b"inf", b"true",
]
LEAVES = [
    None, True, False, 0, -1, 1, 2, 3, 255, 2**31, 2**32, 2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63), 1.5, -0.0, 1e308, 1e-320, "", "x",
    "0", "-1", "nan", "0x3f800000", "\0", "\x1b[2J", "\u202e", "../../x", "=1+1", "x" * 5000, [], {}, [0], [[]], {"": 0}, [None] * 3,
    "f32", "bf16", "e2m1", "RZ", "mma.m16n8k16.f32.f16.f16.f32", "1", "16",
]
TOML_VALUES = [
    "", "0", "-1", "1", "2", "9", "24", "64", "2048", "9223372036854775807", "-9223372036854775808", "1e400", "nan", "-inf", "true", "false",
    '""', '"x"', '"f32"', '"f16"', '"e4m3"', '"s32"', '"RZ"', '"RNE"', '"RD"', '"0::2"', '"1::0"', '"0x7fffffff"', '"0xfffffffffffffffff"',
    "[]", "[[]]", '["*"]', '["c", "c"]', '["d"]', "{}", '{ kind = "add" }', '{ bits = 0, rounding = "RZ" }', '{ bits = 999999, rounding = "RZ" }',
    '{ format = "f32", rounding = "RNE" }', "1979-05-27", "'''\n", '"\\u0000"', '"\\u001b[31m"', "[" * 200, "[" * 50 + "]" * 50,
    '"' + "y" * 3000 + '"',
]


def some_bytes(r, most):
    return bytes(r.randrange(256) for _ in range(r.randrange(most)))


def any_bytes(r, data):
    """Changes a few bytes anywhere."""
    data = bytearray(data)
    for _ in range(r.randint(1, 5)):
        at = r.randrange(len(data) + 1)
        kind = r.randrange(7)
        if kind == 0 and at < len(data):
            data[at] = r.randrange(256)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif kind == 2:
            del data[at:at + r.randint(1, 40)]
        elif kind == 3:
            data[at:at] = data[at:at + r.randint(1, 40)]
        elif kind == 4:
            data[at:at] = r.choice(WORDS)
        elif kind == 5:
            data[at:at] = some_bytes(r, 9)
        elif r.random() < 0.3:
            del data[at:]
    return bytes(data)


def nodes(value, path=()):
    """Lists the places in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from nodes(inner, path + (key,))


def document(r, value):
    """Changes a few places of a document."""
    value = copy.deepcopy(value)
    for _ in range(r.randint(1, 3)):
        path = r.choice(list(nodes(value)))
        if not path:
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        key = path[-1]
        old = holder[key]
        kind = r.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[r.choice(["", "x", key + "x", key.upper(), "\x1b"])] = holder.pop(key)
        elif kind == 2 and isinstance(holder, list):
            holder.insert(key, old)
        elif kind in (3, 4) and isinstance(old, int) and not isinstance(old, bool):
            holder[key] = r.choice([old + 1, old - 1, -old, old * 2, old + 0.5, old + 2**32, 0, 1, 2**53, 2**64 - 1])
        elif kind == 3 and isinstance(old, list):
            holder[key] = r.choice([old[::-1], old[:-1], old * 2, old[1:], [old]])
        elif kind == 4 and isinstance(old, str):
            holder[key] = r.choice([old + " ", old[:-1], old.upper(), old * 300, "\n" + old, old[::-1]])
        else:
            # A copy, because later changes may be made inside it.
            holder[key] = copy.deepcopy(r.choice(LEAVES))
    return value


def as_json(r, data):
    """Changes the structure of a JSON file."""
    text = json.dumps(document(r, json.loads(data)), indent=r.choice([None, 2]))
    if r.random() < 0.05:
        # Duplicate a member.
        text = text.replace("{", '{"seed": 1, "seed": 2, ', 1)
    return text.encode()


def as_toml(r, data):
    """Changes lines of a TOML file."""
    lines = data.decode().split("\n")
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(lines))
        kind = r.randrange(8)
        line = lines[at]
        if kind <= 3 and "=" in line:
            # Change a value, or a value inside an inline table.
            places = [i + 1 for i, c in enumerate(line) if c == "="]
            start = r.choice(places)
            ends = [i for i in range(start, len(line)) if line[i] in ",}"] if "{" in line else []
            end = ends[0] if ends and r.random() < 0.8 else len(line)
            lines[at] = line[:start] + " " + r.choice(TOML_VALUES) + line[end:]
        elif kind == 4:
            del lines[at]
        elif kind == 5:
            lines.insert(r.randrange(len(lines) + 1), line)
        elif kind == 6 and "=" in line:
            lines[at] = r.choice(["x", "", '""', "a.b.c", "name", "node.d", "bits"]) + line[line.index("="):]
        else:
            lines.insert(at, r.choice(["[", "[[rule]]", "[x]", "[[finding]]", "x = 1", "\0", "# \x07", "name = 'y'", "[node]"]))
        lines = lines or [""]
    return "\n".join(lines).encode()


def as_lines(r, data):
    """Changes some words of a text."""
    lines = [line.split(b" ") for line in data.split(b"\n")]
    for _ in range(r.randint(1, 4)):
        line = r.choice(lines)
        word = r.choice([
            b"", b"0x", b"zz", b"-", b"nan", b"inf", b"-inf", b"1e400", b"1e999999999", b"0x1p99999999999", b"1e-400000", b"F" * 40, b"\xff",
            b"\0", b"10", b"0", b"#", b"9" * 20000, b"0." + b"0" * 5000 + b"1", b"3*2^-1", b"1*2^99999999999", b"\xe2\x88\x9e",
        ])
        if r.random() < 0.3:
            line.insert(r.randrange(len(line) + 1), word)
        else:
            line[r.randrange(len(line))] = word
    return b"\n".join(b" ".join(line) for line in lines)


def as_safetensors(r, data):
    """Changes the header or the length of a safetensors file."""
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = json.loads(data[8:8 + length]), data[8 + length:]
    if r.random() < 0.75:
        header = document(r, header)
    text = json.dumps(header).encode()
    if r.random() < 0.15:
        rest = rest[:r.randrange(len(rest) + 1)] if r.random() < 0.5 else rest + some_bytes(r, 40)
    elif r.random() < 0.3:
        rest = any_bytes(r, rest)
    said = len(text) if r.random() < 0.95 else r.choice([0, 1, len(text) + 8, 2**31, 2**63, 2**64 - 1, len(text) - 1])
    return struct.pack("<Q", said) + text + rest


def as_npy(r, data):
    """Changes the header of an npy file."""
    length = struct.unpack("<H", data[8:10])[0]
    rest = data[10 + length:]
    shape = r.choice([
        "()", "(1,)", "(-1,)", "(3, 4)", "(4, 3)", "(2, 2, 3)", "(0,)", "(18446744073709551616,)", "(4294967296, 4294967296)", "(12,)", "12", "(1,) ",
        "(" + "1, " * 70 + ")", "(" + "1, " * 20000 + ")", "(" + "1, " * 31 + "12)", "(3.0, 4)", "(None,)", "(" + "2, " * 64 + ")",
    ])
    kind = r.choice(["<f4", ">f4", "<f8", "<f2", "|u1", "<i8", "<c8", "|O", "|V2", "<U4", "f4", "", "<f16", "[('a', '<f4')]", "\\x00", "|b1", "<u2"])
    order = r.choice(["True", "False", "0", "None"])
    header = r.choice([
        f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}",
        f"{{'shape': {shape}, 'descr': '{kind}', 'fortran_order': {order}}}",
        f"{{'descr': '{kind}', 'shape': {shape}}}",
        f"{{'descr': '{kind}', 'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}}}",
    ]).encode()
    version = r.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\0\0"])
    said = len(header) + 1 if r.random() < 0.9 else r.choice([0, 65535, 2**20])
    size = struct.pack("<H", min(said, 65535)) if version[0] == 1 else struct.pack("<I", said)
    return b"\x93NUMPY" + version + size + header + b"\n" + rest


def as_gguf(r, data):
    """Changes numbers of the header of a GGUF file, or its length."""
    data = bytearray(data)
    for _ in range(r.randint(1, 3)):
        width, kind = r.choice([(4, "<I"), (8, "<Q")])
        at = r.randrange(4, max(5, len(data) // 2))
        old = struct.unpack(kind, data[at:at + width].ljust(width, b"\0"))[0]
        most = 2**(8 * width) - 1
        new = r.choice([0, 1, 2, 3, 8, 9, 12, 31, 32, 33, 39, 255, 2**31, most, most // 2, old + 1, old - 1, old * 2, old << 32])
        data[at:at + width] = struct.pack(kind, new & most)
    return bytes(data[:r.randrange(len(data) + 1)] if r.random() < 0.1 else data)


STRUCTURES = {
    ".json": as_json, ".checkpoint": as_json, ".toml": as_toml, ".txt": as_lines, ".safetensors": as_safetensors, ".npy": as_npy,
    ".gguf": as_gguf,
}


def damaged(r, name, data):
    """Damages `data`, the content of a valid file with this name, in a random way."""
    if r.random() < 0.03:
        return r.choice([b"", some_bytes(r, 300), b"\0" * 1000, b"[" * 100000, b'{"a":' * 20000, data + data])
    if r.random() < 0.04:
        # Unchanged: reading it succeeds, which shows that other files are refused because of their damage.
        return data
    ending = "." + name.rsplit(".", 1)[-1]
    return STRUCTURES[ending](r, data) if r.random() < 0.7 else any_bytes(r, data)
