"""Exports with shapes that the model does not have, and with switches that are not fed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.sampling import samples
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from support.golden import golden

ANY = tf.TensorSpec(None, tf.float32, name="x")


def concrete(function: Any, *specs: tf.TensorSpec) -> Any:
    return tf.function(function).get_concrete_function(*specs)


def test_a_traced_function_of_unknown_rank_is_exported_for_a_shape() -> None:
    double = concrete(lambda x: tf.reduce_sum(tf.nn.relu(x), -1) * 2.0, ANY)
    with pytest.raises(InvalidArgumentError, match=r"shapes=\{'x': \[None, 3\]\}"):
        export(double)
    report = export(double, shapes={"x": [None, 3]})
    assert report.inputs["x"].shape.as_list() == [None, 3]
    (out,) = report.outputs.values()
    assert out.shape.as_list() == [None]


def test_a_fixed_size_may_be_wanted() -> None:
    double = concrete(lambda x: x * 2.0, tf.TensorSpec([None, 4], tf.float32, name="x"))
    assert export(double, shapes={"x": (2, 4)}).inputs["x"].shape.as_list() == [2, 4]
    with pytest.raises(InvalidArgumentError, match="not of shape"):
        export(double, shapes={"x": [2, 5]})
    with pytest.raises(InvalidArgumentError, match="there is no input 'y'; the inputs are: x"):
        export(double, shapes={"y": [2, 4]})


def test_a_shape_that_the_model_cannot_take_names_the_node() -> None:
    product = concrete(lambda x: tf.matmul(x, np.ones((3, 2), np.float32)), ANY)
    with pytest.raises(InvalidArgumentError, match=r"(?s)shapes x \[1, 5\]: node '.*got 5 and 3"):
        export(product, shapes={"x": [1, 5]})


def test_inputs_of_many_unknown_axes_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One size may be that of four axes: 224 for each would be 2.5e9 elements."""
    drawn: list[int] = []
    draw = samples.normal

    def counted(stream: Any, shape: Any, dtype: Any) -> Any:
        drawn.append(math.prod(shape))
        return draw(stream, shape, dtype)

    monkeypatch.setattr(samples, "normal", counted)
    kernel = np.ones((2, 2, 2, 7, 1), np.float32)
    spec = tf.TensorSpec([None] * 5, tf.float32, name="x")
    conv = concrete(lambda x: tf.nn.conv3d(x, kernel, [1] * 5, "SAME"), spec)
    with pytest.raises(FailedPreconditionError, match="no inputs that the model takes were found"):
        export(conv)
    assert drawn
    assert max(drawn) <= samples._MOST_DRAWN


def test_tags_choose_the_graph(tmp_path: Path) -> None:
    folder = golden("v1_models/serve_and_train") / "model"
    report = export(folder, tmp_path / "m.onnx", "eval", tags="train")
    assert report.signature == "eval"
    with pytest.raises(NotFoundError, match=r"(?s)signatures: 'eval', 'train'.*Try: signature="):
        export(folder, tags=["train"])


def test_what_a_switch_that_nobody_feeds_turns_off_is_no_state() -> None:
    kept = tf.Variable([1.0, 3.0])

    def program(x: tf.Tensor) -> Any:
        training = tf.raw_ops.PlaceholderWithDefault(input=False, shape=())

        def update() -> Any:
            kept.assign(x)
            return x

        return tf.cond(training, update, lambda: kept * x)

    report = export(concrete(program, tf.TensorSpec([2], tf.float32, name="x")))
    assert list(report.inputs) == ["x"]


def test_print_gives_on_what_it_takes() -> None:
    def program(x: tf.Tensor) -> Any:
        said = tf.raw_ops.Print(input=x, data=[tf.shape(x)], message="shape")
        return said * 2.0

    report = export(concrete(program, tf.TensorSpec([2], tf.float32, name="x")))
    assert report.dropped == {"Print": 1}
