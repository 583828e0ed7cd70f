"""What all tests share."""

import os
import random

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def calls():
    """How many calls a fuzz run makes: TCNUM_FUZZ of them, 2,000 without it."""
    return int(os.environ.get("TCNUM_FUZZ", "2000"))


@pytest.fixture
def dice():
    return random.Random(int(os.environ.get("TCNUM_FUZZ_SEED", "0")))
