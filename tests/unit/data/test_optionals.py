"""Optional elements as arguments and results of functions."""

from pathlib import Path

import pinnace as tf

SPEC = tf.OptionalSpec(tf.TensorSpec([], tf.float32))


def test_an_optional_is_an_argument_and_a_result() -> None:
    @tf.function
    def halved(given: tf.experimental.Optional) -> tf.experimental.Optional:
        return tf.experimental.Optional.from_value(given.get_value() / 2.0)

    found = halved(tf.experimental.Optional.from_value(5.0))
    assert isinstance(found, tf.experimental.Optional)
    assert found.element_spec == tf.TensorSpec([], tf.float32)
    assert float(found.get_value()) == 2.5


def test_an_optional_may_hold_ragged_tensors() -> None:
    @tf.function
    def same(given: tf.experimental.Optional) -> tf.experimental.Optional:
        return given

    found = same(tf.experimental.Optional.from_value(tf.ragged.constant([[1, 2], [], [3]])))
    assert found.get_value().to_list() == [[1, 2], [], [3]]


def test_a_saved_function_takes_optionals(tmp_path: Path) -> None:
    module = tf.Module()

    @tf.function(input_signature=[SPEC])
    def filled(given: tf.experimental.Optional) -> tf.Tensor:
        if given.has_value():
            return given.get_value()
        return tf.constant(-1.0)

    module.filled = filled
    tf.saved_model.save(module, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    optional = tf.experimental.Optional
    assert float(loaded.filled(optional.from_value(2.0))) == 2.0
    assert float(loaded.filled(optional.empty(tf.TensorSpec([], tf.float32)))) == -1.0
