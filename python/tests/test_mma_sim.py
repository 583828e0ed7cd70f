"""Tests the example that compares MMA-Sim with tcnum."""

import importlib.util
import pathlib

import pytest

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "mma_sim.py"
# What generations make of 2^23 - 2^23 - 0.5 - 0.25 - 0.125 in one step: exact it is -0.875.
LEFT = {
    ("volta", "f16"): 0.0,
    ("turing", "f16"): -0.5,
    ("ampere", "f64"): -0.875,
    ("ampere", "f16"): -0.5,
    ("ada", "e5m2"): 0.0,
    ("hopper", "f16"): -0.75,
    ("hopper", "e5m2"): 0.0,
    ("blackwell", "e5m2"): -0.75,
    ("cdna1", "f16"): -0.875,
    ("cdna2", "f16"): 0.0,
    ("cdna3", "f16"): -0.5,
    ("cdna3", "e5m2fnuz"): -1.0,
}
# Where values differ, and no GPU was asked which of them is right.
APART = {"mfma.16x16x32.f32.e5m2fnuz.e5m2fnuz.f32"}


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    own = importlib.util.spec_from_file_location("mma_sim", EXAMPLE)
    module = importlib.util.module_from_spec(own)
    own.loader.exec_module(module)
    return module


@pytest.fixture
def both(example):
    if example.torch is None:
        pytest.skip(f"MMA-Sim cannot be imported ({example.MISSING}): TCNUM_TORCH=1 tools/python installs it")
    return example


def test_each_generation_leaves_what_is_known_of_it(example):
    found = {(row[3], row[4].split(".")[3]): ours for row, ours, _ in example.discrepancies()}
    assert {key: found[key] for key in LEFT} == LEFT


def test_the_dot_product_is_the_same_in_mma_sim(both):
    assert [(row, ours) for row, ours, _ in both.discrepancies()] == [(row, other) for row, _, other in both.discrepancies()]


def test_bits_of_nvidias_instructions_and_values_of_all_are_the_same_in_mma_sim(both):
    for row, count, wrong, unequal, first in both.verified(cases=2000):
        model, instruction = row[3:]
        assert count >= 2000 and wrong >= unequal, instruction
        # Which NaN, and which zero, no one has asked AMD's GPUs; an H200 has the NaN of f64 that the model has.
        if not model.startswith("cdna") and ".f64." not in instruction:
            assert wrong == 0, first
        assert unequal == 0 or instruction in APART, first


def test_products_are_the_same_in_mma_sim(both):
    for name, _, ours, other, _, _ in both.errors(n=16):
        assert (both.bits(ours) == both.bits(other)).all(), name


def test_tcnum_gives_what_an_h200_gave_and_mma_sim_all_of_it_but_the_nan_of_f64(both):
    found = list(both.recorded())
    assert len(found) > 20
    for instruction, count, ours, other in found:
        assert count > 0 and ours == 0 and (other == 0) == (".f64." not in instruction), instruction
