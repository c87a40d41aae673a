"""`tf.compat.v1`: names are resolved on access; those of graph mode say why they are missing."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.compat.v1.earlier import _all
from pinnace.compat.v1.names import same_names
from support.fresh_process import run_fresh

if TYPE_CHECKING:
    from pathlib import Path

v1 = tf.compat.v1


def test_names_of_version_2_are_the_same_objects() -> None:
    assert v1.log is tf.math.log
    assert v1.nn.relu is tf.nn.relu
    assert v1.errors.NotFoundError is tf.errors.NotFoundError
    assert v1.io.gfile is tf.io.gfile
    assert v1.float32 is tf.float32
    assert v1.newaxis is None
    from pinnace.compat.v1.math import exp

    assert exp is tf.exp


def test_every_function_with_other_arguments_can_be_made() -> None:
    made = 0
    for space, functions in _all().items():
        for name in functions:
            value: object = v1
            for part in f"{space}.{name}".split(".")[1:]:
                value = getattr(value, part)
            assert callable(value)
            assert f"tf.{functions[name].of}" in (value.__doc__ or "")
            made += 1
    assert made > 140


def test_names_are_listed() -> None:
    assert {"reduce_sum", "log", "to_float", "nn", "gfile", "losses"} <= set(dir(v1))
    assert {"Exists", "GFile", "Walk"} <= set(dir(v1.gfile))
    assert "relu" in dir(v1.nn)
    assert len(same_names()) > 40


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("global_variables_initializer", "nothing is run to set them"),
        ("variable_scope", "Try: tf.Variable"),
        ("get_variable", "belong to a graph"),
        ("ConfigProto", "there are no sessions"),
        ("train.Saver", "Try: tf.train.Checkpoint"),
        ("layers", "Try: the layers of tf.keras.layers"),
        ("metrics", "tf.keras.metrics"),
        ("summary", "Try: tf.summary"),
        ("nn.dynamic_rnn", "tf.keras.layers.RNN"),
        ("no_such_name", "is not in pinnace"),
    ],
)
def test_names_of_graph_mode_say_why_and_what_to_use(name: str, said: str) -> None:
    space, _, last = name.rpartition(".")
    module = getattr(v1, space) if space else v1
    assert not hasattr(module, last)
    with pytest.raises(AttributeError, match=f"tf.compat.v1.{name} is not in pinnace") as raised:
        getattr(module, last)
    assert said in str(raised.value)


def test_version_2_is_always_on() -> None:
    for name in ("enable_eager_execution", "enable_v2_behavior", "enable_resource_variables"):
        assert getattr(v1, name)() is None
    assert v1.executing_eagerly()
    for name in ("disable_eager_execution", "disable_v2_behavior", "disable_tensor_equality"):
        with pytest.raises(RuntimeError, match=f"tf.compat.v1.{name}: .*\n  Try: ") as raised:
            getattr(v1, name)()
        assert "pinnace upgrade" in str(raised.value)


def test_old_words_for_arguments_are_the_new_ones() -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(
        v1.reduce_sum(x, reduction_indices=[1], keep_dims=True), [[3.0], [12.0]]
    )
    with pytest.raises(ValueError, match="reduce_sum: axis was given twice; reduction_indices is"):
        v1.reduce_sum(x, axis=0, reduction_indices=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dimensions'"):
        v1.argmax(x, dimensions=1)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("word", ["filter", "filters"])
def test_the_gradient_of_a_convolution_has_a_name(padding: str, word: str) -> None:
    rng = np.random.default_rng(3)
    x, w = tf.constant(rng.normal(size=(2, 7, 6, 3))), tf.constant(rng.normal(size=(3, 2, 3, 4)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.conv2d(x, w, 2, padding)
    dy = tf.constant(rng.normal(size=y.shape))
    wanted = tape.gradient(y, x, dy)
    options = {word: w, "out_backprop": dy, "strides": [1, 2, 2, 1], "padding": padding}
    np.testing.assert_allclose(v1.nn.conv2d_backprop_input(x.shape, **options), wanted)


def test_pictures_are_normalised_by_one_op() -> None:
    x = np.random.default_rng(5).normal(2, 3, (4, 5, 6, 3)).astype(np.float32)
    scale, offset = np.float32([1, 2, 3]), np.float32([0, -1, 1])
    y, mean, variance = v1.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)
    moments = x.mean((0, 1, 2)), x.var((0, 1, 2))
    wanted = (x - moments[0]) / np.sqrt(moments[1] + 0.01) * scale + offset
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mean, moments[0], rtol=1e-5)
    np.testing.assert_allclose(variance, moments[1] * 120 / 119, rtol=1e-5)  # Bessel's
    told = v1.nn.fused_batch_norm(x, scale, offset, *moments, 0.01, is_training=False)[0]
    np.testing.assert_allclose(told, wanted, rtol=1e-4, atol=1e-4)


def test_weights_of_losses_count_what_is_not_zero() -> None:
    labels, found = np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])
    assert float(v1.losses.mean_squared_error(labels, found, [[1.0], [0.0]])) == 2.5  # (1 + 4) / 2
    assert float(v1.losses.absolute_difference(labels, found, 0.0)) == 0.0
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        v1.losses.mean_squared_error(labels, found, [1.0, 2.0])
    with pytest.raises(ValueError, match="reduction must be one of"):
        v1.losses.mean_squared_error(labels, found, reduction="mean")


def test_messages_go_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tensorflow"):
        v1.logging.info("a %s", "b")
        for number in range(5):
            v1.logging.log_every_n(v1.logging.WARN, "every %d", 2, number)
            v1.logging.log_first_n(v1.logging.WARN, "first %d", 2, number)
    assert caplog.messages == ["a b", "every 0", "first 0", "first 1", "every 2", "every 4"]


def test_files_are_those_of_gfile(tmp_path: Path) -> None:
    folder = str(tmp_path / "a" / "b")
    v1.gfile.MakeDirs(dirname=folder)
    with v1.gfile.GFile(f"{folder}/c", "w") as file:
        file.write("x")
    v1.gfile.Copy(oldpath=f"{folder}/c", newpath=f"{folder}/d")
    assert v1.gfile.Exists(filename=f"{folder}/d")
    assert sorted(v1.gfile.ListDirectory(folder)) == ["c", "d"]
    v1.gfile.DeleteRecursively(folder)
    assert not v1.gfile.Exists(folder)


PROGRAM = """
import sys
sys.argv = ["p", "--steps=3", "rest"]
if {without}:
    sys.modules["absl"] = sys.modules["absl.app"] = sys.modules["absl.flags"] = None
import pinnace.compat.v1 as tf
if not {without}:
    tf.flags.DEFINE_integer("steps", 1, "How many.")

def main(argv):
    print(argv, None if {without} else tf.flags.FLAGS.steps)

tf.app.run()
"""


@pytest.mark.parametrize(
    ("without", "said"),
    [(True, "['p', '--steps=3', 'rest'] None"), (False, "['p', 'rest'] 3")],
)
def test_a_program_is_run_with_and_without_absl(without: bool, said: str) -> None:
    if not without:
        pytest.importorskip("absl")
    assert run_fresh(PROGRAM.format(without=without)).strip() == said


def test_without_absl_flags_say_what_to_install() -> None:
    told = run_fresh(
        "import sys\nsys.modules['absl'] = None\nimport pinnace as tf\n"
        "try:\n    tf.compat.v1.flags\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert "needs the package absl-py" in told


def test_namespaces_can_be_imported() -> None:
    for name in ("nn", "losses", "gfile", "logging", "math", "errors", "train"):
        assert importlib.import_module(f"pinnace.compat.v1.{name}") is not None


def test_files_are_read_without_a_session(tmp_path: Path) -> None:
    path = str(tmp_path / "events")
    value = v1.Summary.Value(tag="t", simple_value=2)
    events = [v1.Event(step=step, summary=v1.Summary(value=[value])) for step in (1, 2)]
    with tf.io.TFRecordWriter(path) as writer:
        for event in events:
            writer.write(event.SerializeToString())
    assert list(v1.train.summary_iterator(path)) == events
    records = [event.SerializeToString() for event in events]
    assert list(v1.io.tf_record_iterator(path)) == records
    assert list(v1.python_io.tf_record_iterator(path)) == records
    with pytest.raises(tf.errors.NotFoundError):
        next(v1.io.tf_record_iterator(str(tmp_path / "none")))
    prefix = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0])).save(str(tmp_path / "saved"))
    assert v1.train.checkpoint_exists(prefix)
    assert not v1.train.checkpoint_exists(str(tmp_path / "other"))
    key = "a/.ATTRIBUTES/VARIABLE_VALUE"
    assert v1.train.NewCheckpointReader(prefix).get_tensor(key).tolist() == [1, 2]


def test_strings_are_split_into_sparse_tensors() -> None:
    found = v1.string_split(["a b", "", "c"])
    assert found.indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0]]
    assert found.values.numpy().tolist() == [b"a", b"b", b"c"]
    assert found.dense_shape.numpy().tolist() == [3, 2]
    rows = [[b"a", b"b"], [], [b"c"]]
    assert v1.string_split(["a,b", "", "c"], ",", result_type="RaggedTensor").to_list() == rows
    assert v1.strings.split(["a b", "", "c"], result_type="RaggedTensor").to_list() == rows
    with pytest.raises(ValueError, match="sep and delimiter are synonyms"):
        v1.string_split(["a"], ",", delimiter=";")
    with pytest.raises(ValueError, match="result_type must be SparseTensor or RaggedTensor"):
        v1.string_split(["a"], result_type="list")


def test_values_stand_at_indices_and_others_everywhere_else() -> None:
    assert v1.sparse_to_dense([1, 3], [4], [5, 6], -1).numpy().tolist() == [-1, 5, -1, 6]
    with pytest.raises(tf.errors.InvalidArgumentError):
        v1.sparse_to_dense([3, 1], [4], [5, 6])


def test_values_are_printed_beside_the_one_that_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        v1.Print(tf.constant([1, 2]), [tf.constant([7, 8, 9]), "a"], "seen ", summarize=2)
        is not None
    )
    assert capfd.readouterr().err == "seen [7 8...][a]\n"


@pytest.mark.parametrize(
    ("options", "losses", "slope"),  # of TensorFlow; the slope is the sum of absolute values
    [
        ({}, [5.336966, 5.366534], 9.178421),
        ({"time_major": False}, [5.336966, 5.366534], 9.178421),
        ({"ctc_merge_repeated": False}, [4.454421, 5.442184], 9.135504),
        ({"preprocess_collapse_repeated": True}, [4.222978, 5.366534], 9.176794),
    ],
)
@pytest.mark.parametrize("name", ["inputs", "logits"])
def test_ctc_takes_the_arguments_of_version_1(
    options: dict[str, bool], losses: list[float], slope: float, name: str
) -> None:
    x = np.sin(np.arange(40, dtype=np.float32) * 1.7).reshape(5, 2, 4) * 2
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 1, 2]), [2, 3])
    logits = tf.constant(x if options.get("time_major", True) else x.transpose(1, 0, 2))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = v1.nn.ctc_loss(labels, sequence_length=[5, 4], **{name: logits}, **options)
    np.testing.assert_allclose(loss, losses, rtol=1e-6)
    assert np.abs(tape.gradient(loss, logits)).sum() == pytest.approx(slope, rel=1e-6)
    (best, second), scores = v1.nn.ctc_beam_search_decoder(x, [5, 4], top_paths=2, beam_width=10)
    np.testing.assert_array_equal(best.values, [1, 0, 2, 1, 0, 2])
    np.testing.assert_array_equal(second.indices, [[0, 0], [0, 1], [1, 0], [1, 1]])
    np.testing.assert_allclose(scores, [[-0.7081411, -2.421555], [-1.461649, -1.530901]], rtol=1e-6)


def test_dimensions_compute_and_compare_as_tensorflows() -> None:
    three, four, unknown = (v1.Dimension(n) for n in (3, 4, None))
    sums = (three + four, three - 1, three * four, four // 3, four % 3, 1 + three, 9 - three)
    assert [n.value for n in (*sums, 2 * three, 9 // four, 9 % four)] == [
        *(7, 2, 12, 1, 1, 4, 6),
        *(6, 2, 1),
    ]
    assert [n.value for n in (three + unknown, unknown * 2, three - None)] == [None] * 3
    assert (three < four, three >= 4, three == 3, three != 3) == (True, False, True, False)
    assert [unknown == unknown, three != unknown, unknown < 3] == [None] * 3
    assert (bool(v1.Dimension(0)), str(three), str(unknown)) == (False, "3", "?")
    assert three.is_compatible_with(None)
    assert three.merge_with(None).value == unknown.merge_with(3).value == 3
    with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
        three.merge_with(four)
    with pytest.raises(ValueError, match="Dimension -4 must be >= 0"):
        v1.Dimension(1) - 5
    with pytest.raises(TypeError, match="unsupported operand"):
        three / 2
    assert tf.TensorShape([unknown, three]).as_list() == [None, 3]
    assert tf.reshape(tf.zeros(6), [v1.Dimension(2), -1]).shape == (2, 3)
    assert v1.dimension_value(unknown) is None
    assert v1.dimension_at_index(tf.TensorShape(None), 1) is None


def test_batch_gather_takes_ragged_tensors() -> None:
    places = tf.ragged.constant([[2, 1, 0], [0]])
    table = tf.constant([["a", "b", "c"], ["d", "e", "f"]])
    rows = tf.ragged.constant([["a", "b", "c"], ["d", "e"]])
    for x in (table, rows):
        assert v1.batch_gather(x, places).to_list() == [[b"c", b"b", b"a"], [b"d"]]
