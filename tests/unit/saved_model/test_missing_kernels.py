"""Ops without a kernel that a signature reaches are named before it runs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.missing_kernels import unsupported_ops, unsupported_signatures
from support.changed_models import write_changed

GOLDEN = Path(__file__).parents[2] / "golden" / "saved_models"
ALL = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def changed(folder: Path, name: str, change: Callable[[FunctionDef], None]) -> tf.Module:
    """A golden model, loaded with changed functions."""
    shutil.copytree(GOLDEN / name / "model", folder)
    path = folder / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        change(function)
    write_changed(path, message)
    return tf.saved_model.load(folder)  # type: ignore[no-any-return]


def replace_op(old: str, new: str) -> Callable[[FunctionDef], None]:
    def change(function: FunctionDef) -> None:
        for node in function.node_def:
            if node.op == old:
                node.op = new

    return change


@pytest.mark.parametrize("name", ALL)
def test_golden_models_have_every_kernel(name: str) -> None:
    assert unsupported_signatures(tf.saved_model.load(GOLDEN / name / "model").signatures) == {}


def test_it_is_what_a_call_says(tmp_path: Path) -> None:
    loaded = changed(tmp_path / "model", "keras_mlp", replace_op("Relu", "Text>Nothing"))
    signature = loaded.signatures["serving_default"]
    (missing,) = unsupported_ops(signature)
    assert missing.op == "Text>Nothing"
    assert missing.count >= 1
    assert "native library" in missing.remedy
    assert "Try: " in str(missing)
    ((name, spec),) = signature.structured_input_signature[1].items()
    with pytest.raises(tf.errors.UnimplementedError, match="no kernel for Text>Nothing"):
        signature(**{name: tf.zeros([1, *spec.shape[1:]])})


def test_what_nobody_needs_does_not_count(tmp_path: Path) -> None:
    @tf.function
    def both(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return x + 1.0, tf.nn.relu(x)

    class First(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
        def first(self, x: tf.Tensor) -> tf.Tensor:
            return both(x)[0]

    tf.saved_model.save(First(), tmp_path / "made")
    path = tmp_path / "made" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    found = False
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "Relu":
                node.op, found = "Text>Nothing", True
    write_changed(path, message)
    assert found
    signature = tf.saved_model.load(tmp_path / "made").signatures["serving_default"]
    assert unsupported_ops(signature) == ()
    (y,) = signature(x=tf.ones([2])).values()
    assert y.numpy().tolist() == [2.0, 2.0]


def test_a_branch_counts_whether_or_not_it_is_taken(tmp_path: Path) -> None:
    class Choice(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, "x")])
        def choose(self, x: tf.Tensor) -> tf.Tensor:
            return tf.cond(x > 0.0, lambda: tf.nn.relu(x), lambda: x)

    tf.saved_model.save(Choice(), tmp_path / "made")
    path = tmp_path / "made" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        replace_op("Relu", "NoSuchOp")(function)
    write_changed(path, message)
    found = unsupported_signatures(tf.saved_model.load(tmp_path / "made").signatures)
    assert [one.op for one in found["serving_default"]] == ["NoSuchOp"]
