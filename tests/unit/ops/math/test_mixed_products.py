"""Products of bytes with int32 sums: traced, saved and in ONNX, against NumPy in int64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

KINDS = [np.int8, np.uint8]


def drawn(kind: Any, *shape: int) -> Any:
    """Mostly the largest and smallest numbers, whose sums need more than 16 bits."""
    info = np.iinfo(kind)
    random = np.random.default_rng(len(shape))
    return random.choice([info.min, info.max, info.max - 1, 1], shape).astype(kind)


@pytest.mark.parametrize("flip", ["", "transpose_a", "transpose_b", "adjoint_a", "adjoint_b"])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_everywhere(first: Any, second: Any, lead: Any, flip: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from pinnace.deploy import onnx

    x, y = drawn(first, *lead, 4, 40), drawn(second, *lead[-1:], 40, 5)
    wanted = x.astype(np.int64) @ y.astype(np.int64)
    x = np.ascontiguousarray(np.swapaxes(x, -1, -2)) if flip.endswith("_a") else x
    y = np.ascontiguousarray(np.swapaxes(y, -1, -2)) if flip.endswith("_b") else y
    flips: dict[str, Any] = {flip: True} if flip else {}
    root = tf.Module()
    specs = [tf.TensorSpec(one.shape, one.dtype, name=n) for one, n in ((x, "x"), (y, "y"))]

    def product(x: Any, y: Any) -> Any:
        return tf.matmul(x, y, output_type=tf.int32, **flips)

    root.product = tf.function(product, input_signature=specs)
    given = tf.constant(x), tf.constant(y)
    eager = product(*given)
    assert eager.dtype is tf.int32
    np.testing.assert_array_equal(eager.numpy(), wanted)
    np.testing.assert_array_equal(root.product(*given).numpy(), wanted)
    tf.saved_model.save(root, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.product(*given).numpy(), wanted)
    if len(lead) < 2:
        return
    onnx.export(root.product.get_concrete_function(), tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    names = [one.name for one in session.get_inputs()]
    (found,) = session.run(None, dict(zip(names, (x, y), strict=True)))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("wanted", ["int16", "int64", "float32", "int8"])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_sums_that_do_not_exist_are_refused(kind: str, wanted: str) -> None:
    """The result is not cast from sums that have overflowed."""
    x = tf.constant(np.full((2, 2), 100), kind)
    with pytest.raises((InvalidArgumentError, TypeError), match=r"int8|Tout"):
        tf.matmul(x, x, output_type=wanted)
