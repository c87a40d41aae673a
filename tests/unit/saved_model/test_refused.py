"""A loaded model may not access files outside its folder unless it is trusted."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.framework.tensor import Tensor
from pinnace.ops.io.files import matching_files, read_file, write_file
from pinnace.ops.random.candidates import fixed_unigram_candidate_sampler
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.options import LoadOptions
from support.changed_models import write_changed

# The remedy, with its consequence.
ADVICE = (
    r"may not reach files.*\n  Try: .*LoadOptions\(allow_io=True\).*--allow-io.*"
    r"read and write all files that this process may.*trust who made it"
)


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


def saved(folder: Path, call: Callable[[Tensor], Tensor]) -> Path:
    """A model whose signature maps a string to a string."""
    module = tf.Module()
    function = tf.function(call, input_signature=[tf.TensorSpec([], tf.string, name="x")])
    tf.saved_model.save(module, folder, signatures=function)
    return folder


@pytest.mark.parametrize(
    "way", ["tf.print", "tf.io.write_file", "tf.io.matching_files", "vocab_file"]
)
def test_a_loaded_model_reaches_no_file_by_any_op(way: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "counts.csv").write_text("a,1\nb,2\n")

    def reach(x: Tensor) -> Tensor:
        if way == "tf.print":
            tf.print("got", x, output_stream=f"file://{out}")
        elif way == "tf.io.write_file":
            write_file(str(out), x)
        elif way == "tf.io.matching_files":
            return tf.strings.reduce_join(matching_files(str(tmp_path / "*")))
        else:
            drawn, _, _ = fixed_unigram_candidate_sampler(
                [[0]], 1, 1, True, 2, vocab_file=str(tmp_path / "counts.csv")
            )
            return x + tf.strings.as_string(drawn[0])
        return x + "!"

    model = saved(tmp_path / "model", reach)
    for _ in range(2):
        loaded = tf.saved_model.load(model).signatures["serving_default"]
        with pytest.raises(tf.errors.PermissionDeniedError, match=ADVICE):
            loaded(x=tf.constant("secret"))
        assert not out.exists()
        # Saved again, it is the same op, and refused again.
        again = tmp_path / "again"
        tf.saved_model.save(tf.saved_model.load(model), again)
        model = again
    trusted = tf.saved_model.load(model, options=LoadOptions(allow_io=True))
    assert trusted.signatures["serving_default"](x=tf.constant("secret"))
    assert out.exists() == (way in {"tf.print", "tf.io.write_file"})


def test_a_function_of_ones_own_that_calls_a_loaded_one_does_not_open_it(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", lambda x: read_file(x) + "!")
    loaded = tf.saved_model.load(model).signatures["serving_default"]

    @tf.function
    def calls(x: Tensor) -> Tensor:
        (found,) = loaded(x=x).values()
        return found + read_file(str(tmp_path / "own"))

    (tmp_path / "own").write_text("own")
    with pytest.raises(tf.errors.PermissionDeniedError, match="ReadFile"):
        calls(tf.constant(str(tmp_path / "own")))


class Words(tf.Module):
    """Two functions that read the model's own file."""

    def __init__(self, path: Path) -> None:
        self.file = tf.saved_model.Asset(path)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(self.file, "string", -2, "int64", -1), -1
        )

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(self, word: Tensor) -> tuple[Tensor, Tensor]:
        return read_file(self.file.asset_path), self.table.lookup(word)


def test_a_loaded_model_reads_its_own_assets(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("boat\nship\n")
    tf.saved_model.save(Words(tmp_path / "words.txt"), tmp_path / "model")
    text, number = tf.saved_model.load(tmp_path / "model").read("ship")
    assert text.numpy() == b"boat\nship\n"
    assert number.numpy() == 1


@pytest.mark.parametrize("outside", [True, False])
def test_an_asset_that_is_a_link_out_of_the_folder_is_refused(
    outside: bool, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("boat\nship\n")
    model = tmp_path / "model"
    tf.saved_model.save(Words(tmp_path / "words.txt"), model)
    asset = model / "assets" / "words.txt"
    target = tmp_path / "passwd" if outside else model / "hidden" / "words.txt"
    target.parent.mkdir(exist_ok=True)
    target.write_text("root\nship\n")
    asset.unlink()
    asset.symlink_to(target)
    linked = tmp_path / "latest"  # the folder itself may be a link, since the caller names it
    linked.symlink_to(model)
    if outside:
        with pytest.raises(tf.errors.PermissionDeniedError, match=r"(?s)link to .*passwd.*cp -rL"):
            tf.saved_model.load(linked)
        loaded = tf.saved_model.load(linked, options=LoadOptions(allow_io=True))
    else:
        loaded = tf.saved_model.load(linked)
    assert loaded.read("ship")[0].numpy() == b"root\nship\n"


def test_errors_of_a_model_cannot_steer_the_terminal(tmp_path: Path) -> None:
    def fails(x: Tensor) -> Tensor:
        tf.debugging.Assert(tf.equal(x, "right"), ["\x1b[2Jwrong:", x])
        return x + "!"

    loaded = tf.saved_model.load(saved(tmp_path / "model", fails)).signatures["serving_default"]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        loaded(x=tf.constant("\x1b]0;title\x07"))
    assert "wrong:" in str(caught.value)
    assert all(char == "\n" or char.isprintable() for char in str(caught.value))


@pytest.mark.parametrize(
    ("op", "remedy"),
    [
        ("FastWordpieceTokenizeWithOffsets", "text.BertTokenizer"),
        ("TFText>FastSentencepieceTokenize", "text.SentencepieceTokenizer"),
        ("SimpleMLInferenceOp", "to_tensorflow_saved_model"),
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
    write_changed(path, message)
    serve = tf.saved_model.load(tmp_path / "model").signatures["serving_default"]
    ((name, spec),) = serve.structured_input_signature[1].items()
    with pytest.raises(tf.errors.UnimplementedError, match=rf"(?s)no kernel for {op}.*{remedy}"):
        serve(**{name: tf.zeros([1, *spec.shape[1:]])})
