"""A mesh of eight logical devices, and tensors on it, for these tests."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import pinnace as tf
from pinnace.experimental import dtensor
from pinnace.framework import devices, layouts

U = dtensor.UNSHARDED
SIZES = {"x": 2, "y": 4}


@pytest.fixture(autouse=True)
def eight_devices() -> Iterator[None]:
    """Eight logical devices; after the test there is one, and ops forget layouts."""
    saved = devices.get_logical_device_configuration(devices.CPU)
    used = layouts.used
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(devices.CPU, [part] * 8)
    yield
    devices.set_logical_device_configuration(devices.CPU, saved)
    layouts.used = used


def mesh() -> dtensor.Mesh:
    """A mesh of two by four devices."""
    return dtensor.create_mesh(list(SIZES.items()))


def layout(text: str) -> dtensor.Layout:
    """`x.` is the layout of a matrix whose rows are divided along x."""
    return dtensor.Layout([U if letter == "." else letter for letter in text], mesh())


def text_of(tensor: Any) -> str:
    """The layout of a tensor, as `layout` takes it."""
    found = dtensor.fetch_layout(tensor)
    assert found is not None
    return "".join("." if spec == U else spec for spec in found.sharding_specs)


def on(value: Any, text: str) -> Any:
    """A tensor of `value` with that layout."""
    return dtensor.copy_to_mesh(tf.constant(value), layout(text))


TEXTS = st.integers(0, 3).flatmap(
    lambda rank: (
        st.lists(st.sampled_from(".xy"), min_size=rank, max_size=rank)
        .filter(lambda letters: letters.count("x") < 2 and letters.count("y") < 2)
        .map("".join)
    )
)


@st.composite
def laid_out(draw: Any, text: str | None = None) -> tuple[Any, str]:
    """An array and a layout that it can have."""
    letters = draw(TEXTS) if text is None else text
    sizes = [draw(st.integers(1, 3)) * SIZES.get(letter, 1) for letter in letters]
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return rng.integers(-9, 9, sizes).astype(np.float32), letters
