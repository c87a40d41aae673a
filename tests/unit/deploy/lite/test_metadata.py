"""Metadata of .tflite files: written from the model and the options, read back, and kept."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import lite
from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.metadata import document as documents
from pinnace.deploy.lite.metadata.keeping import is_plain_name
from pinnace.deploy.lite.metadata.packing import BUFFER, Metadata, packed, unpacked
from pinnace.deploy.lite.reading.saving import write_saved_model
from pinnace.framework.errors import DataLossError, InvalidArgumentError, NotFoundError
from pinnace.proto.lite_schema import METADATA
from support.command_line import pinnace

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ["cat", "dog", "größer"]
layers = tf.keras.layers


@pytest.fixture(scope="module")
def model() -> Any:
    tf.keras.utils.set_random_seed(1)
    return tf.keras.Sequential(
        [
            tf.keras.Input([8, 8, 3], name="image"),
            layers.Rescaling(1 / 255),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )


def content_of(model: Any, **options: Any) -> bytes:
    found = lite.export(model, verify=False, **options).content
    assert found is not None
    return found


def tensors(read: Metadata | None) -> tuple[Any, Any]:
    assert read is not None
    (subgraph,) = read.document["subgraph_metadata"]
    return subgraph["input_tensor_metadata"], subgraph["output_tensor_metadata"]


def test_what_the_model_knows(model: Any) -> None:
    content = content_of(model, labels=LABELS)
    (image,), (scores,) = tensors(unpacked(content, "it"))
    assert image["name"] == "image"
    assert image["content"]["content_properties"] == {"color_space": "RGB"}
    (unit,) = image["process_units"]
    assert unit == {
        "options_type": "NormalizationOptions",
        "options": {"mean": [0.0], "std": [1.0]},
    }
    assert image["stats"] == {"min": [0.0], "max": [255.0]}
    (file,) = scores["associated_files"]
    assert (file["name"], file["type"]) == ("labels.txt", "TENSOR_AXIS_LABELS")


def test_any_program_that_unpacks_archives_sees_the_files(model: Any) -> None:
    with zipfile.ZipFile(io.BytesIO(content_of(model, labels=LABELS))) as archive:
        assert archive.namelist() == ["labels.txt"]
        assert archive.read("labels.txt").decode() == "cat\ndog\ngrößer\n"
        # Readers map the file, and use these bytes.
        assert archive.infolist()[0].compress_type == zipfile.ZIP_STORED


def test_the_same_model_is_the_same_bytes(model: Any) -> None:
    assert content_of(model, labels=LABELS) == content_of(model, labels=LABELS)


def test_the_interpreter_runs_it_as_without(model: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((2, 8, 8, 3), np.float32) * 255
    found = []
    for name, options in (("a", {"metadata": False}), ("b", {"labels": LABELS})):
        place = tmp_path / f"{name}.tflite"
        lite.export(model, place, **options)
        run = tf.lite.Interpreter(model_path=str(place)).get_signature_runner()
        found.append(run(image=x)["output_0"])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_smaller_forms_have_it_too(model: Any, kind: str) -> None:
    read = unpacked(content_of(model, labels=LABELS, **{kind: True}), "it")
    assert read is not None
    assert list(read.files) == ["labels.txt"]


def test_a_model_that_nothing_is_known_of_has_none() -> None:
    dense = tf.keras.Sequential([tf.keras.Input([3]), layers.Dense(2)])
    assert lite.export(dense, verify=False).metadata is None
    assert unpacked(content_of(dense), "it") is None


def test_what_the_user_says_counts(model: Any, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\nc\n")
    told = {
        "name": "Mood",
        "author": "somebody",
        "subgraph_metadata": [
            {
                "input_tensor_metadata": [{"name": "image", "description": "A face."}],
                "output_tensor_metadata": [
                    {
                        "name": "mood",
                        "associated_files": [{"name": "words.txt", "type": "TENSOR_AXIS_LABELS"}],
                    }
                ],
            }
        ],
    }
    (tmp_path / "told.json").write_text(json.dumps(told))
    report = lite.export(
        model,
        tmp_path / "m.tflite",
        verify=False,
        metadata=tmp_path / "told.json",
        normalization=((127.5,), (127.5,)),
    )
    read = unpacked((tmp_path / "m.tflite").read_bytes(), "it")
    (image,), (mood,) = tensors(read)
    assert read is not None
    assert (read.document["name"], read.document["author"]) == ("Mood", "somebody")
    assert image["description"] == "A face."
    assert image["process_units"][0]["options"] == {"mean": [127.5], "std": [127.5]}
    assert image["stats"] == {"min": [-1.0], "max": [1.0]}
    assert mood["name"] == "mood"
    assert read.files == {"words.txt": b"a\nb\nc\n"}
    assert report.files == ("words.txt",)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (((1.0, 2.0, 3.0), (4.0,)), ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0])),
        (((1.0, 1.0, 1.0), (4.0,)), ([1.0], [4.0])),
    ],
)
def test_there_are_as_many_means_as_deviations(model: Any, given: Any, wanted: Any) -> None:
    (image,), _ = tensors(unpacked(content_of(model, normalization=given), "it"))
    options = image["process_units"][0]["options"]
    assert (options["mean"], options["std"]) == wanted


def test_a_vocabulary(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([1, 4], tf.int32, name="ids")])
    def mean(ids: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.cast(ids, tf.float32), 1)

    (tmp_path / "vocab.txt").write_text("[PAD]\nword\n")
    content = content_of(mean.get_concrete_function(), vocabulary=tmp_path / "vocab.txt")
    read = unpacked(content, "it")
    (ids,), _ = tensors(read)
    assert ids["associated_files"][0]["type"] == "VOCABULARY"
    assert read is not None
    assert read.files == {"vocab.txt": b"[PAD]\nword\n"}
    # This version of the schema introduced VOCABULARY.
    assert read.document["min_parser_version"] == "1.0.1"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metadata": {"nam": "x"}}, InvalidArgumentError, "metadata has 'nam'; a ModelMetadata"),
        ({"metadata": 3}, InvalidArgumentError, "metadata must be a document"),
        ({"metadata": {"name": 3}}, InvalidArgumentError, "metadata.name must be a string"),
        (
            {"metadata": {"associated_files": [{"name": "no"}]}},
            NotFoundError,
            "'no', which does not",
        ),
        ({"metadata": False, "labels": LABELS}, InvalidArgumentError, "labels belong to the meta"),
        ({"vocabulary": "words"}, InvalidArgumentError, "exactly one input of integers"),
        ({"vocabulary": {"x": "w"}}, InvalidArgumentError, "names the input 'x'; there are image"),
        (
            {"metadata": {"subgraph_metadata": [{"input_tensor_metadata": [{}, {}]}]}},
            InvalidArgumentError,
            "describes 2 tensors; there are image",
        ),
    ],
)
def test_what_cannot_be_said(
    model: Any, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        lite.export(model, verify=False, **options)


UNION = {"content_properties_type": "Nothing", "content_properties": {}}


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"content": UNION}, "content_properties_type must be one of FeatureProperties, Image"),
        ({"associated_files": [{"type": "LABELS"}]}, "must be one of UNKNOWN, DESCRIPTIONS"),
        ({"stats": {"max": "x"}}, "stats.max must be a list"),
        ({"stats": {"max": ["x"]}}, r"stats.max\[0\] must be a number"),
        ({"content": {"range": {"min": 1 << 40}}}, "range.min must be a int32"),
        ({"content": {"range": {"min": 1.5}}}, "range.min must be a int32"),
        ({"content": 3}, "content must be fields of a Content"),
        ({"stats": {"max": [1e39]}}, r"stats.max\[0\] must be a float32"),
        ({"name": "\udc80"}, "name must be a string"),
    ],
)
def test_fields_of_other_kinds(tensor: Any, message: str) -> None:
    told = {"subgraph_metadata": [{"input_tensor_metadata": [tensor]}]}
    with pytest.raises(InvalidArgumentError, match=message):
        documents.encoded(told)


def test_every_field_of_the_schema_reads_back() -> None:
    def made(table: str, depth: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in METADATA.tables[table].items():
            kind = field.kind.strip("[]")
            if kind in METADATA.unions:
                chosen = METADATA.unions[kind][depth % 4]
                found[f"{name}_type"] = chosen
                found[name] = made(chosen, depth + 1)
                continue
            one: Any = 7
            if kind == "string":
                one = f"{table}.{name}"
            elif kind == "float32":
                one = 0.25
            elif kind in METADATA.tables:
                one = made(kind, depth + 1)
            enum = documents._ENUMS.get((table, name))
            if enum is not None:
                one = list(METADATA.enums[enum])[1]
            found[name] = [one, one] if field.kind.startswith("[") else one
        return found

    told = made("ModelMetadata")
    read = documents.decoded(documents.encoded(told), "it")
    assert read.pop("min_parser_version") == "1.5.0"
    told.pop("min_parser_version")
    assert read == told


def test_numbers_of_a_newer_schema_and_infinities_read_back() -> None:
    tensor = {"associated_files": [{"type": 9}], "stats": {"max": [float("inf")]}}
    told = {"subgraph_metadata": [{"input_tensor_metadata": [tensor]}]}
    read = documents.decoded(documents.encoded(told), "it")
    assert read["subgraph_metadata"] == told["subgraph_metadata"]


def with_archive(content: bytes, kind: int, data: bytes, count: int = 1) -> bytes:
    """A file with metadata, and `labels.txt` compressed in some way behind it."""
    file = io.BytesIO(packed(content, Metadata({"associated_files": [{"name": "labels.txt"}]})))
    file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file, "a", kind) as archive:
        for number in range(count):
            archive.writestr("labels.txt" if not number else f"{number}", data)
    return file.getvalue()


def test_archives_that_are_packed(model: Any) -> None:
    content = content_of(model)
    read = unpacked(with_archive(content, zipfile.ZIP_DEFLATED, b"cat\n" * 999), "it")
    assert read is not None
    assert read.files == {"labels.txt": b"cat\n" * 999}
    with pytest.raises(DataLossError, match="bytes, which is too much for a file of"):
        unpacked(with_archive(content, zipfile.ZIP_DEFLATED, bytes(1 << 24)), "it")
    with pytest.raises(DataLossError, match="a compression other than stored or deflated"):
        unpacked(with_archive(content, zipfile.ZIP_BZIP2, bytes(1 << 24)), "it")
    with pytest.raises(DataLossError, match="more than 10000 associated files"):
        unpacked(with_archive(content, zipfile.ZIP_STORED, b"", 10_001), "it")


def test_other_metadata_of_the_file_stay(model: Any) -> None:
    content = content_of(model, labels=LABELS)
    again = packed(content, Metadata({"name": "other"}))
    root = parsed(again, "it")
    assert [one["name"] for one in root.list("metadata")] == [BUFFER]
    read = unpacked(again, "it")
    assert read is not None
    assert read.document["name"] == "other"


def test_a_file_that_is_read_keeps_them(model: Any, tmp_path: Path) -> None:
    first = tmp_path / "m.tflite"
    lite.export(model, first, verify=False, labels=LABELS, metadata={"description": "Of pets."})
    write_saved_model(first, tmp_path / "saved")
    lite.export(tmp_path / "saved", tmp_path / "n.tflite", verify=False)
    before, after = (unpacked(x.read_bytes(), "it") for x in (first, tmp_path / "n.tflite"))
    assert before == after
    # Labels that are given replace those.
    lite.export(tmp_path / "saved", tmp_path / "o.tflite", verify=False, labels=["x", "y", "z"])
    read = unpacked((tmp_path / "o.tflite").read_bytes(), "it")
    assert read is not None
    assert read.files == {"labels.txt": b"x\ny\nz\n"}
    assert read.document["description"] == "Of pets."


def test_tensors_in_another_order_keep_what_is_theirs(tmp_path: Path) -> None:
    specs = [tf.TensorSpec([2], name="b"), tf.TensorSpec([3], name="a")]

    @tf.function(input_signature=specs)
    def both(b: tf.Tensor, a: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"z": b * 2.0, "y": a * 3.0}

    tensors_told = [{"name": "b", "description": "two"}, {"name": "a", "description": "three"}]
    told = {"subgraph_metadata": [{"input_tensor_metadata": tensors_told}]}
    lite.export(both.get_concrete_function(), tmp_path / "m.tflite", verify=False, metadata=told)
    write_saved_model(tmp_path / "m.tflite", tmp_path / "saved")
    again = lite.export(tmp_path / "saved", verify=False)
    assert again.metadata is not None
    (subgraph,) = again.metadata["subgraph_metadata"]
    described = [one["description"] for one in subgraph["input_tensor_metadata"]]
    assert described == [{"a": "three", "b": "two"}[name] for name in again.inputs]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "/x", "x\0", "y" * 300])
def test_names_that_lead_elsewhere(name: str) -> None:
    assert not is_plain_name(name)


def test_files_by_other_names_are_not_written(model: Any, tmp_path: Path) -> None:
    metadata = Metadata({"associated_files": [{"name": "../out"}]}, {"../out": b"x"})
    (tmp_path / "m.tflite").write_bytes(packed(content_of(model), metadata))
    write_saved_model(tmp_path / "m.tflite", tmp_path / "a" / "saved")
    assert not (tmp_path / "a" / "out").exists()
    assert not list(tmp_path.rglob("out"))


def test_damaged_metadata(model: Any, tmp_path: Path) -> None:
    content = content_of(model, labels=LABELS)
    at = content.index(b"M001")
    with pytest.raises(DataLossError, match="metadata of it"):
        unpacked(content[:at] + b"M00x" + content[at + 4 :], "it")
    at = content.index(b"cat\ndog\n")
    with pytest.raises(DataLossError, match="associated files are damaged"):
        unpacked(content[:at] + b"CAT" + content[at + 3 :], "it")
    (tmp_path / "assets.extra").mkdir()
    (tmp_path / "assets.extra" / "tflite_metadata.json").write_text("{}")
    tf.saved_model.save(model, tmp_path / "saved")
    (tmp_path / "assets.extra").rename(tmp_path / "saved" / "assets.extra")
    with pytest.raises(DataLossError, match=r"not the metadata of a \.tflite file"):
        lite.export(tmp_path / "saved", verify=False)


def test_show_tells_them(model: Any, tmp_path: Path) -> None:
    place = tmp_path / "m.tflite"
    lite.export(model, place, verify=False, labels=LABELS, metadata={"name": "Pets"})
    told = pinnace("show", place)
    assert told.code == 0, told.err
    assert "metadata  Pets" in told.out
    assert "a picture, RGB; pixels from 0 to 255" in told.out
    assert "labels.txt: 17 B: cat, dog, größer" in told.out
    found = json.loads(pinnace("show", place, "--json").out)
    assert found["metadata"]["files"] == {"labels.txt": 17}
    assert found["metadata"]["document"]["name"] == "Pets"


def test_at_the_command_line(model: Any, tmp_path: Path) -> None:
    tf.saved_model.save(model, tmp_path / "model")
    (tmp_path / "names").write_text("a\nb\nc\n")
    out = tmp_path / "m.tflite"
    options = ["--labels", f"output_0={tmp_path / 'names'}", "--normalization", "image=0:255"]
    done = pinnace("export", tmp_path / "model", out, *options)
    assert done.code == 0, done.err
    assert "it has metadata, and labels.txt" in done.out
    (image,), _ = tensors(unpacked(out.read_bytes(), "it"))
    assert image["process_units"][0]["options"] == {"mean": [0.0], "std": [255.0]}
    refused = pinnace("export", tmp_path / "model", tmp_path / "m.onnx", "--vocabulary", "x")
    assert refused.code == 1
    assert "--vocabulary is for files that end in .tflite" in refused.err
