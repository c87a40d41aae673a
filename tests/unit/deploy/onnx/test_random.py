"""Numbers drawn without a seed: refused, or drawn by ONNX Runtime if allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.cli.main import main
from pinnace.deploy.onnx import ExportReport, export
from pinnace.deploy.onnx.converters.random import stateful
from pinnace.deploy.onnx.verification.checking import open_session
from pinnace.framework.errors import InternalError, InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.one_op import run_model

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = TensorSpec([2], tf.int32, name="shape")
LARGE = np.int32([100, 300])


def twice(report: ExportReport, x: Any) -> list[Any]:
    """The first output of two runs of one session."""
    session = open_session(report.model.SerializeToString())
    (given,) = session.get_inputs()
    return [session.run(None, {given.name: x})[0] for _ in range(2)]


def concrete(function: Any, *specs: Any) -> Any:
    return tf.function(function, input_signature=list(specs)).get_concrete_function()


# Name -> function, minimum, maximum, mean, standard deviation.
DRAWS = {
    "uniform": (lambda s: tf.random.uniform(s, 2.0, 5.0), 2, 5, 3.5, 3 / 12**0.5),
    "normal": (lambda s: tf.random.normal(s, 3.0, 2.0), -9, 15, 3, 2),
    "truncated": (lambda s: tf.random.truncated_normal(s, 1.0, 2.0), -3, 5, 1, 2 * 0.8796),
    "integers": (lambda s: tf.random.uniform(s, -3, 4, tf.int64), -3, 3, 0, 2),
    "half": (lambda s: tf.random.uniform(s, dtype=tf.float16), 0, 1, 0.5, 1 / 12**0.5),
    "double": (lambda s: tf.random.normal(s, dtype=tf.float64), -6, 6, 0, 1),
    # Two draws with equal arguments are different.
    "two": (lambda s: tf.random.uniform(s) - tf.random.uniform(s), -1, 1, 0, 1 / 6**0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_distributions(name: str) -> None:
    function, least, largest, mean, deviation = DRAWS[name]
    traced = concrete(function, SHAPE)
    with pytest.raises(UnimplementedError, match="allow_random=True"):
        export(traced)
    report = export(traced, allow_random=True)
    assert report.drawn == tuple(report.outputs)
    assert report.differences == {}
    first, second = twice(report, LARGE)
    assert (first.shape, first.dtype) == (tuple(LARGE), np.asarray(traced(LARGE)).dtype)
    assert (first != second).mean() > 0.5
    assert least <= first.min() <= first.max() <= largest
    numbers = first.astype(np.float64)
    assert abs(numbers.mean() - mean) < 0.03 * deviation + 0.01
    assert abs(numbers.std() - deviation) < 0.03 * deviation


def test_dropout_that_was_left_in() -> None:
    traced = concrete(lambda x: (tf.nn.dropout(x, 0.25), x * 2), TensorSpec([None, 4], tf.float32))
    report = export(traced, allow_random=True)
    dropped, plain = report.outputs
    assert report.drawn == (dropped,)
    assert list(report.differences) == [plain]
    facts = {entry.key: entry.value for entry in report.model.metadata_props}
    assert facts["random_outputs"] == "output_0"
    y, doubled = run_model(report, [np.ones((5000, 4), np.float32)])
    np.testing.assert_array_equal(doubled, 2)
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.02


def test_rows_are_shuffled() -> None:
    report = export(concrete(tf.random.shuffle, TensorSpec([None, 2], tf.int32)), allow_random=True)
    x = np.arange(200, dtype=np.int32).reshape(100, 2)
    first, second = twice(report, x)
    assert (first != second).any()
    np.testing.assert_array_equal(first[np.argsort(first[:, 0])], x)


def test_classes_are_drawn_by_their_logits() -> None:
    shares = np.float32([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-9]])
    traced = concrete(lambda x: tf.random.categorical(x, 4000), TensorSpec([None, 3], tf.float32))
    report = export(traced, allow_random=True)
    (found,) = run_model(report, [np.log(shares)])
    assert (found.shape, found.dtype) == ((2, 4000), np.int64)
    counts = np.stack([np.bincount(row, minlength=3) for row in found]) / 4000
    np.testing.assert_allclose(counts, shares, atol=0.03)


def test_draws_in_branches_are_found() -> None:
    def chosen(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x + tf.random.normal([3]), lambda: x)

    report = export(concrete(chosen, TensorSpec([3], tf.float32)), allow_random=True)
    assert report.drawn == tuple(report.outputs)


def test_a_model_that_draws_nothing_is_compared_as_ever() -> None:
    traced = concrete(lambda x: x + 1.0, TensorSpec([3], tf.float32))
    report = export(traced, allow_random=True)
    assert report.drawn == ()
    assert report.largest_difference == 0
    with pytest.raises(InvalidArgumentError, match="allow_random needs float32"):
        export(traced, allow_random=True, float16=True)


def test_the_form_of_what_is_drawn_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    right = stateful.uniform_numbers
    monkeypatch.setattr(
        stateful,
        "uniform_numbers",
        lambda g, call, sizes: right(g, call, g.op("Add", sizes, g.ints(1))),
    )
    with pytest.raises(InternalError, match="the signature says"):
        export(concrete(lambda: tf.random.uniform([2, 3])), allow_random=True)


def test_the_command_says_what_was_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tf.Module()
    module.f = tf.function(
        lambda x: {"y": tf.nn.dropout(x, 0.5)},
        input_signature=[TensorSpec([None, 4], tf.float32, name="x")],
    )
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)
    output = str(tmp_path / "m.onnx")
    assert main(["export", str(tmp_path / "m"), output, "--allow-random"]) == 0
    assert "drawn anew in each run, and compared by shape: y" in capsys.readouterr().out
