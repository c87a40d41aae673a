"""The statements and programs of the guide "Effective TensorFlow 2", claim by claim."""

import gc
import importlib.util
import subprocess
import sys
import weakref

import numpy as np
import pytest

import pinnace as tf
from architecture.sources import ROOT
from pinnace.proto.event_pb2 import Event
from support.fresh_process import run_fresh


def example(name):
    """A program of examples/ as a module."""
    spec = importlib.util.spec_from_file_location(
        f"examples_{name}", ROOT / "examples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# API cleanup.


@pytest.mark.parametrize("name", ["app", "flags", "logging", "contrib"])
def test_what_left_the_main_namespace_is_absent(name: str) -> None:
    assert not hasattr(tf, name)


def test_absl_flags_and_logging_work_beside_it() -> None:
    printed = run_fresh(
        """
import sys
from absl import app, flags, logging
import pinnace as tf
flags.DEFINE_integer("n", 3, "how many")
def main(_):
    logging.set_verbosity(logging.INFO)
    logging.get_absl_handler().python_handler.stream = sys.stdout
    logging.info("sum %s", tf.reduce_sum(tf.range(flags.FLAGS.n)).numpy())
app.run(main, ["program", "--n=5"])
"""
    )
    assert "sum 10" in printed


@pytest.mark.parametrize("name", ["summary", "keras.metrics", "keras.optimizers", "math"])
def test_replacements_are_there(name: str) -> None:
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


# Eager execution.


def test_code_executes_eagerly_like_python() -> None:
    seen = []
    x = tf.constant(2.0)
    for _ in range(3):
        x = x * x
        seen.append(x.numpy())
    assert seen == [4.0, 16.0, 256.0]


def test_lines_execute_in_order_and_control_dependencies_are_accepted() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f():
        first = v.read_value()
        with tf.control_dependencies([v.assign(2.0)]):
            second = v.read_value()
        v.assign_add(3.0)
        return first, second, v.read_value()

    assert [x.numpy() for x in f()] == [1.0, 2.0, 5.0]


# No more globals.


@pytest.mark.parametrize(
    "name",
    [
        "Session",
        "placeholder",
        "get_global_step",
        "global_variables_initializer",
        "variable_scope",
        "get_variable",
        "get_collection",
        "get_default_graph",
        "trainable_variables",
    ],
)
def test_globals_of_version_1_are_absent(name: str) -> None:
    assert not hasattr(tf, name)
    assert not hasattr(tf.train, name)


def test_a_variable_that_is_lost_is_collected() -> None:
    v = tf.Variable(tf.zeros([10]))
    found = weakref.ref(v)
    del v
    gc.collect()
    assert found() is None


def test_optimizers_do_not_take_all_variables_by_themselves() -> None:
    other, own = tf.Variable(1.0), tf.Variable(1.0)
    tf.keras.optimizers.SGD(0.5).minimize(lambda: own * other, [own])
    assert own.numpy() == 0.5
    assert other.numpy() == 1.0


# Functions, not sessions.


def test_a_function_is_called_with_inputs_and_gives_outputs() -> None:
    @tf.function
    def f(x):
        return 2 * x

    assert f(tf.constant(4)).numpy() == 8


def test_a_function_runs_as_one_graph_without_what_is_not_needed() -> None:
    @tf.function
    def f(x):
        tf.linalg.inv(x)  # singular: run, it would raise
        return x + 1

    zeros = tf.zeros([2, 2])
    np.testing.assert_array_equal(f(zeros), np.ones((2, 2)))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.linalg.inv(zeros)


def test_a_function_is_exported_and_imported_again(tmp_path) -> None:
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.factor = tf.Variable(3.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x):
            return self.factor * x

    tf.saved_model.save(Scale(), str(tmp_path / "scale"))
    loaded = tf.saved_model.load(str(tmp_path / "scale"))
    np.testing.assert_array_equal(loaded(tf.constant([1.0, 2.0])), [3.0, 6.0])


def ops_of(function, *args) -> set[str]:
    return {node.op.name for node in function.get_concrete_function(*args).graph.nodes}


def test_for_and_while_become_loops_with_break_and_continue() -> None:
    @tf.function
    def f(n):
        total = tf.constant(0)
        for i in tf.range(n):
            if i % 2 == 0:
                continue
            if i > 7:
                break
            total += i
        while total > 10:
            total -= 1
        return total

    assert {"While", "StatelessWhile"} & ops_of(f, tf.TensorSpec([], tf.int32))
    assert f(tf.constant(100)).numpy() == 10  # 1 + 3 + 5 + 7 = 16, then down
    assert f(tf.constant(4)).numpy() == 4


def test_if_becomes_cond() -> None:
    @tf.function
    def f(x):
        if x > 0:
            return x
        return -x

    assert {"If", "StatelessIf"} & ops_of(f, tf.TensorSpec([], tf.float32))
    assert [f(tf.constant(x)).numpy() for x in (2.0, -3.0)] == [2.0, 3.0]


def test_for_over_a_dataset_becomes_a_loop_of_the_graph() -> None:
    traces = []

    @tf.function
    def f(dataset):
        total = tf.constant(0, tf.int64)
        for x in dataset:
            traces.append(x)
            total += x
        return total

    dataset = tf.data.Dataset.range(50)
    assert f(dataset).numpy() == 1225
    assert len(traces) < 5  # the body is traced, not run, for each element


def test_control_flow_nests_arbitrarily() -> None:
    @tf.function
    def primes(n):
        found = tf.TensorArray(tf.int32, 0, dynamic_size=True)
        for i in tf.range(2, n):
            prime = True
            j = 2
            while j * j <= i:
                if i % j == 0:
                    prime = False
                    break
                j += 1
            if prime:
                found = found.write(found.size(), i)
        return found.stack()

    np.testing.assert_array_equal(primes(tf.constant(20)), [2, 3, 5, 7, 11, 13, 17, 19])


# Recommendations.


def test_smaller_functions_need_no_decoration() -> None:
    def dense(x, w, b):
        return tf.nn.sigmoid(tf.matmul(x, w) + b)

    @tf.function
    def multilayer_perceptron(x, w0, b0, w1, b1):
        return dense(dense(x, w0, b0), w1, b1)

    layers = [tf.keras.layers.Dense(3, activation=tf.nn.sigmoid) for _ in range(2)]
    perceptron = tf.keras.Sequential(layers)
    x = tf.constant(np.random.default_rng(0).standard_normal((4, 2)), tf.float32)
    expected = perceptron(x)
    weights = perceptron.trainable_variables
    np.testing.assert_allclose(multilayer_perceptron(x, *weights), expected, rtol=1e-6)


def test_keras_layers_and_models_manage_their_variables() -> None:
    layers = [tf.keras.layers.Dense(4, activation=tf.nn.sigmoid) for _ in range(5)]
    perceptron = tf.keras.Sequential(layers)
    perceptron(tf.zeros([1, 2]))
    assert [v.shape for v in layers[3].trainable_variables] == [[4, 4], [4]]
    gathered = [id(v) for layer in layers for v in layer.trainable_variables]
    assert [id(v) for v in perceptron.trainable_variables] == gathered


def test_keras_objects_are_checkpointed_and_exported_without_fit(tmp_path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(3)])
    x = tf.ones([1, 2])
    expected = model(x).numpy()
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "model"))
    other = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(3)])
    tf.train.Checkpoint(model=other).restore(path).assert_consumed()
    np.testing.assert_array_equal(other(x), expected)
    tf.saved_model.save(model, str(tmp_path / "saved"))
    np.testing.assert_array_equal(tf.saved_model.load(str(tmp_path / "saved"))(x), expected)


def test_the_second_head_leaves_the_trunk_alone_and_the_trunk_is_published(tmp_path) -> None:
    path = str(tmp_path / "trunk")
    scores, untouched, same = example("transfer_learning").main(epochs=2, output_path=path)
    assert untouched
    assert same
    # With ten and with two classes, this is far above chance.
    assert scores["digits"] > 0.7
    assert scores["above four"] > 0.7


def test_datasets_are_iterables_not_iterators() -> None:
    dataset = tf.data.Dataset.range(3)
    assert [int(x) for x in dataset] == [int(x) for x in dataset] == [0, 1, 2]
    with pytest.raises(TypeError):
        next(dataset)


def test_the_training_loop_is_the_same_in_python_as_a_function_and_by_fit() -> None:
    weights = example("training_loop").main(epochs=1)
    assert len(weights) == 3
    (first, *others) = weights.values()
    for other in others:
        for a, b in zip(first, other, strict=True):
            # float32 sums of 32 terms in another order.
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_dynamic_rnn_gives_what_the_layer_gives_and_learns() -> None:
    first, last, gap = example("dynamic_rnn").main(steps=30)
    assert gap < 1e-6
    assert last < first


@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell", "SimpleRNNCell"])
def test_cells_have_a_zero_state(cell: str) -> None:
    made = getattr(tf.keras.layers, cell)(5)
    states = tf.nest.flatten(made.zero_state(3, dtype=tf.float32))
    assert len(states) == (2 if cell == "LSTMCell" else 1)
    for state in states:
        np.testing.assert_array_equal(state, np.zeros((3, 5)))


# Metrics and summaries.


def scalars(folder) -> list[tuple[str, int, float]]:
    """Tag, step and value of each summary in a folder."""
    found = []
    for file in sorted(folder.glob("events*")):
        for record in tf.data.TFRecordDataset(str(file)):
            event = Event.FromString(record.numpy())
            for value in event.summary.value:
                number = tf.io.parse_tensor(value.tensor.SerializeToString(), tf.float32)
                found.append((value.tag, event.step, float(number)))
    return found


def test_metrics_accumulate_until_their_states_are_reset() -> None:
    mean = tf.metrics.Mean(name="loss", dtype=tf.float32)
    for value in (1.0, 2.0, 6.0):
        mean.update_state(value)
    assert mean.result().numpy() == 3.0
    mean.reset_states()
    mean.update_state(5.0)
    assert mean.result().numpy() == 5.0


def test_summaries_go_to_the_writer_of_the_context(tmp_path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        tf.summary.scalar("loss", 0.1, step=42)
    writer.close()
    assert scalars(tmp_path) == [("loss", 42, pytest.approx(0.1))]


def test_without_a_context_nothing_happens(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    tf.summary.scalar("loss", 0.1, step=42)
    assert list(tmp_path.rglob("*")) == []


def test_the_step_must_be_given(tmp_path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default(), pytest.raises(ValueError, match="step"):
        tf.summary.scalar("loss", 0.1)
    writer.close()


def test_the_training_loop_writes_averages_of_ten_steps(tmp_path) -> None:
    example("metrics_and_summaries").main(tmp_path, steps=30)
    written = scalars(tmp_path / "train")
    assert [(tag, step) for tag, step, _ in written] == [("loss", 10), ("loss", 20), ("loss", 30)]
    values = [value for _, _, value in written]
    assert values == sorted(values, reverse=True)  # it learns, and averages do not accumulate
    assert [(tag, step) for tag, step, _ in scalars(tmp_path / "test")] == [("loss", 30)]


# Debugging.


def test_functions_that_run_eagerly_are_plain_python() -> None:
    calls = []

    @tf.function
    def f(x):
        calls.append(x)
        return x + 1

    f(tf.constant(1))
    f(tf.constant(2))
    assert len(calls) == 1
    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert f(tf.constant(3)).numpy() == 4
        assert f(tf.constant(4)).numpy() == 5
        assert [x.numpy() for x in calls[1:]] == [3, 4]
    finally:
        tf.config.experimental_run_functions_eagerly(False)


@pytest.mark.parametrize(
    ("argument", "line", "printed"),
    [("", "x = x + 1", "Tensor(2"), ("--model", "return input_data // 2", "[-1 -2]")],
    ids=["function", "model"],
)
def test_pdb_stops_inside(argument: str, line: str, printed: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "debugging.py"), *argument.split()]
    done = subprocess.run(
        command, input="l\nc\n", capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"-> {line}" in done.stdout
    # In the listing, the arrow is before the same line, which runs next.
    listed = [text for text in done.stdout.splitlines() if "->\t" in text]
    assert [text.split("\t")[1].strip() for text in listed] == [line]
    assert printed in done.stdout
