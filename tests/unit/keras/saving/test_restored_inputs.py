"""Inputs of a loaded folder are cast to the dtypes of its saved functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras

if TYPE_CHECKING:
    from pathlib import Path


class Doubled(tf.Module):
    """A module for one dtype."""

    def __init__(self, dtype: Any, signature: bool) -> None:
        super().__init__()
        spec = tf.TensorSpec([None, 2], dtype, name="x")
        name = "serve" if signature else "__call__"
        setattr(self, name, tf.function(lambda x: {"y": x + x}, input_signature=[spec]))


def loaded(dtype: Any, signature: bool, folder: Path) -> Any:
    module = Doubled(dtype, signature)
    if signature:
        tf.saved_model.save(module, folder, signatures=module.serve)
    else:
        tf.saved_model.save(module, folder)
    return keras.models.load_model(folder)


@pytest.mark.parametrize("signature", [False, True])
@pytest.mark.parametrize(
    ("saved", "given"),
    [
        ("int64", "int32"),
        ("int32", "int64"),
        ("float32", "float64"),
        ("float32", "float16"),
        ("float32", "int32"),
    ],
)
def test_numbers_of_another_dtype_are_cast(
    signature: bool, saved: str, given: str, tmp_path: Path
) -> None:
    model = loaded(saved, signature, tmp_path / "m")
    values = np.array([[1, 2], [3, 4]], given)
    for x in (values, tf.constant(values), {"x": values} if signature else values):
        found = model(x)
        found = found["y"] if isinstance(found, dict) else found
        assert found.dtype == saved
        np.testing.assert_array_equal(found, 2 * values.astype(saved))


@pytest.mark.parametrize("signature", [False, True])
def test_what_would_lose_a_fraction_is_refused(signature: bool, tmp_path: Path) -> None:
    model = loaded("int32", signature, tmp_path / "m")
    with pytest.raises((TypeError, ValueError)):
        model(np.array([[1.5, 2.5]], np.float32))


def test_a_shape_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    model = loaded("int64", False, tmp_path / "m")
    with pytest.raises(ValueError, match="no saved trace fits"):
        model(np.zeros((1, 3), np.int32))
