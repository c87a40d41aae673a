"""Variables that a function assigns are inputs and outputs."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import ExportReport, export
from pinnace.deploy.program import states
from pinnace.deploy.program.sources import find_program
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.one_op import run_model

X = TensorSpec([None, 3], np.float32, name="x")


def names(report: ExportReport) -> tuple[list[str], list[str]]:
    return list(report.inputs), list(report.outputs)


def test_a_counter() -> None:
    count = tf.Variable(5, name="count")

    @tf.function
    def step(x: Any) -> Any:
        count.assign_add(2)
        return x * tf.cast(count, tf.float32)

    report = export(step.get_concrete_function(X))
    assert names(report) == (["x", "state_in_count"], ["output_0", "state_out_count"])
    assert count.numpy() == 5  # the comparison ran on copies
    y, after = run_model(report, [np.ones((2, 3), np.float32), np.array(7, np.int32)])
    assert after == 9
    np.testing.assert_array_equal(y, np.full((2, 3), 9, np.float32))
    facts = {entry.key: entry.value for entry in report.model.metadata_props}
    assert facts["states"] == "state_in_count -> state_out_count"
    assert facts["state_in_count.first"] == "5"


def test_what_is_read_before_an_assignment_is_the_old_value() -> None:
    table = tf.Variable(np.zeros((4, 3), np.float32), name="table")

    @tf.function
    def step(places: Any, rows: Any) -> Any:
        before = tf.reduce_sum(table)
        table.scatter_nd_add(places[:, None], rows)
        table.assign_sub(tf.ones([4, 3]))
        return before, tf.reduce_sum(table)

    places = TensorSpec([None], np.int32, name="places")
    function = step.get_concrete_function(places, TensorSpec([None, 3], np.float32, name="rows"))
    sample = {
        "places": np.array([1, 1, 3], np.int32),
        "rows": np.ones((3, 3), np.float32),
        "state_in_table": np.arange(12).reshape(4, 3),
    }
    report = export(function, sample=sample)
    start = np.arange(12, dtype=np.float32).reshape(4, 3)
    before, after, kept = run_model(report, [sample["places"], sample["rows"], start])
    wanted = start - 1
    wanted[1] += 2
    wanted[3] += 1
    assert before == start.sum()
    assert after == wanted.sum()
    np.testing.assert_array_equal(kept, wanted)


def test_a_layer_that_keeps_its_states() -> None:
    layer = tf.keras.layers.LSTM(4, stateful=True)
    model = tf.keras.Sequential([tf.keras.Input(batch_shape=(2, 5, 3)), layer])
    report = export(model)
    assert report.op_counts["LSTM"] == 1
    assert len(report.inputs) == len(report.outputs) == 3
    rng = np.random.default_rng(0)
    states = [np.zeros((2, 4), np.float32)] * 2
    for _ in range(3):
        x = rng.standard_normal((2, 5, 3)).astype("f4")
        y, *states = run_model(report, [x, *states])
        np.testing.assert_allclose(y, np.asarray(model(tf.constant(x))), atol=1e-5)


def test_an_assignment_in_a_loop_is_refused() -> None:
    total = tf.Variable(0.0, name="total")

    @tf.function
    def step(x: Any) -> Any:
        for row in x:
            total.assign_add(tf.reduce_sum(row))
        return total.read_value()

    with pytest.raises(UnimplementedError, match="assigns variable 'total'"):
        export(step.get_concrete_function(X))


class Reading(tf.Module):
    """A loop, or a branch, that reads variables beside one that is assigned."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([2.0], name="w")
        self.last = tf.Variable([0.0], name="last")

    @tf.function(input_signature=[TensorSpec([1], np.float32, name="x")])
    def looped(self, x: Any) -> Any:
        _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * self.w), [0, x])
        self.last.assign(y)
        return {"y": y}

    @tf.function(input_signature=[TensorSpec([1], np.float32, name="x")])
    def reads_what_it_keeps(self, x: Any) -> Any:
        before = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y + self.last), [0, x])[1]
        self.last.assign(x)
        after = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y + self.last), [0, x])[1]
        return {"a": before, "b": after}

    @tf.function(input_signature=[TensorSpec([1], np.float32, name="x")])
    def branched(self, x: Any) -> Any:
        y = tf.cond(x[0] > 0, lambda: x * self.w, lambda: x + self.last)
        self.last.assign_add(y)
        return {"y": y}


@pytest.mark.parametrize("name", ["looped", "reads_what_it_keeps", "branched"])
def test_what_a_loop_only_reads_is_no_state(name: str) -> None:
    module = Reading()
    function = getattr(module, name)
    report = export(function.get_concrete_function())
    assert list(report.inputs) == ["x", "state_in_last"]
    assert list(report.outputs)[-1] == "state_out_last"
    state = np.float32([0])
    for number in (1.0, -2.0, 5.0, -0.5):
        x = np.float32([number])
        *found, state = run_model(report, [x, state])
        wanted = function(x)
        for got, key in zip(found, sorted(wanted), strict=True):
            np.testing.assert_array_equal(got, wanted[key])
        np.testing.assert_array_equal(state, module.last)


def test_a_layer_that_keeps_its_states_over_any_time() -> None:
    for kind in (tf.keras.layers.LSTM, tf.keras.layers.GRU, tf.keras.layers.SimpleRNN):
        inputs = tf.keras.Input(batch_shape=(2, None, 3))
        model = tf.keras.Model(inputs, kind(4, stateful=True)(inputs))
        report = export(model)
        rng = np.random.default_rng(0)
        states = [np.zeros((2, 4), np.float32)] * (len(report.inputs) - 1)
        for time in (3, 1, 6):
            x = rng.standard_normal((2, time, 3)).astype("f4")
            y, *states = run_model(report, [x, *states])
            np.testing.assert_allclose(y, np.asarray(model(tf.constant(x))), atol=1e-5)


def test_a_call_that_assigns_nothing_is_only_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = tf.Variable(2.0)

    @tf.function
    def inner(x: Any) -> Any:
        return x * scale

    @tf.function
    def reads(x: Any) -> Any:
        return inner(x) + 1.0

    @tf.function
    def writes(x: Any) -> Any:
        scale.assign(1.0)
        return inner(x)

    program = find_program(reads.get_concrete_function(X), "serving_default")
    calls = [node.op.name for node in program.concrete.graph.nodes if "Call" in node.op.name]
    assert calls == ["StatefulPartitionedCall"]
    with monkeypatch.context() as patch:
        patch.setattr(states, "decided", None)
        assert states.with_states(program) is program
    nested = tf.function(lambda x: writes(x) * 2.0).get_concrete_function(X)
    kept = states.with_states(find_program(nested, "serving_default"))
    assert [len(kept.states), next(iter(kept.inputs))] == [1, "x"]
