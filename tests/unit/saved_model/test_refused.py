"""A loaded model may not reach out of its folder unless it is trusted."""

import shutil
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.ops.io.files import read_file
from pinnace.proto.saved_model_pb2 import SavedModel
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


@pytest.mark.parametrize(
    ("op", "remedy"),
    [
        ("XlaCallModule", "native_serialization"),
        ("FastWordpieceTokenizeWithOffsets", "text.BertTokenizer"),
        ("SentencepieceTokenizeOp", "the package sentencepiece"),
        ("SimpleMLInferenceOpWithHandle", "ydf.from_tensorflow_decision_forests"),
    ],
)
def test_an_op_of_another_library_is_refused_with_what_to_do(
    tmp_path: Path, op: str, remedy: str
) -> None:
    golden = Path(__file__).parents[2] / "golden" / "saved_models" / "keras_mlp" / "model"
    shutil.copytree(golden, tmp_path / "model")
    path = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "Relu":
                node.op = op
    path.write_bytes(message.SerializeToString())
    serve = tf.saved_model.load(tmp_path / "model").signatures["serving_default"]
    ((name, spec),) = serve.structured_input_signature[1].items()
    with pytest.raises(tf.errors.UnimplementedError, match=rf"(?s)no kernel for {op}.*{remedy}"):
        serve(**{name: tf.zeros([1, *spec.shape[1:]])})
