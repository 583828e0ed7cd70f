"""Checkpoints of other programs, drawn in every layout, are read to the values of those programs and without doubts."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tests/fixtures/layouts.py"
#: Files of each layout.
FILES = int(os.environ.get("TCNUM_LAYOUT_FILES", "2"))
#: The command; another program than the package's may be named.
PROGRAM = os.environ.get("TCNUM_PROGRAM", f"{sys.executable} -m tcnum").split()


@pytest.fixture(scope="module")
def layouts():
    spec = importlib.util.spec_from_file_location("layouts", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inspected(*words):
    done = subprocess.run([*PROGRAM, "inspect", *map(str, words), "--output", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_drawn_checkpoints_have_the_values_of_their_programs(layouts, tmp_path):
    for seed in range(FILES):
        for case, (layout, arrays, config, values) in layouts.all_drawn(np.random.default_rng(seed)).items():
            one, two = tmp_path / f"{case}-{seed}", tmp_path / f"{case}-{seed}-values"
            layouts.write(one, arrays, config)
            rows = inspected(one)["tables"]["checkpoint_tensors"]
            row = next(row for row in rows if row["layout"])
            # The arrays of OpenAI have no description.
            only_names = "only names decide" in (row["doubt"] or "") and layout == "gpt-oss-original"
            assert row["layout"] == layout and (only_names or row["doubt"] is None), case
            layouts.write(two, {row["tensor"]: np.ascontiguousarray(values)})
            compared = inspected(one, two / "model.safetensors", "--include", row["tensor"])
            assert compared["tables"]["compared_tensors"][0]["finding"] == "same values", case


def test_drawn_blocks_have_the_values_of_gguf(layouts, tmp_path):
    pytest.importorskip("gguf")
    for seed in range(FILES):
        path, values = tmp_path / f"{seed}.gguf", tmp_path / f"{seed}"
        drawn = layouts.blocks(np.random.default_rng(seed), 8, 1024)
        layouts.write_gguf(path, drawn, expected=False)
        layouts.write(values, {name: values for name, (_, _, values) in drawn.items()})
        rows = inspected(path)["tables"]["checkpoint_tensors"]
        assert [row["doubt"] for row in rows] == [None] * len(drawn)
        rows = inspected(path, values / "model.safetensors")["tables"]["compared_tensors"]
        assert {row["finding"] for row in rows} == {"same values"} and len(rows) == len(drawn)
