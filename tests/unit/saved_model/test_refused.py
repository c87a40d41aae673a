"""A loaded model may not reach out of its folder unless it is trusted."""

from pathlib import Path

import pytest

import pinnace as tf
from pinnace.ops.io.files import read_file
from pinnace.saved_model.options import LoadOptions


def test_a_loaded_model_reads_no_file_unless_it_may(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")

    class Reader(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
        def read(self, name: tf.Tensor) -> tf.Tensor:
            return read_file(name)

    reader = Reader()
    assert reader.read(str(secret)).numpy() == b"hidden"
    tf.saved_model.save(reader, tmp_path / "model", signatures=reader.read)
    loaded = tf.saved_model.load(tmp_path / "model")
    with pytest.raises(
        tf.errors.PermissionDeniedError, match=r"(?s)ReadFile: a loaded model.*allow_io"
    ):
        loaded.signatures["serving_default"](name=tf.constant(str(secret)))
    trusted = tf.saved_model.load(tmp_path / "model", options=LoadOptions(allow_io=True))
    (found,) = trusted.signatures["serving_default"](name=tf.constant(str(secret))).values()
    assert found.numpy() == b"hidden"
