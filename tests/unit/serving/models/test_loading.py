from pathlib import Path

import pytest

from pinnace.framework.errors import DataLossError, InvalidArgumentError, NotFoundError
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.proto.types_pb2 import DT_FLOAT
from pinnace.serving.models.loaded_model import SignatureDefinition, TensorDefinition
from pinnace.serving.models.loading import load_model, read_definitions
from pinnace.serving.models.metadata import define_signature
from support.fresh_process import run_fresh
from support.golden import golden
from unit.serving.numpy_models import echo, half_plus_two


def write(folder: Path, *tags: list[str]) -> Path:
    """A SavedModel whose graphs have these tags and one numbered signature each."""
    message = SavedModel(saved_model_schema_version=1)
    for i, words in enumerate(tags):
        graph = message.meta_graphs.add()
        graph.meta_info_def.tags.extend(words)
        signature = graph.signature_def[f"signature_{i}"]
        signature.method_name = "tensorflow/serving/predict"
        x = signature.inputs["x"]
        x.name, x.dtype = "serving_default_x:0", DT_FLOAT
        for size in (-1, 8):
            x.tensor_shape.dim.add(size=size)
        y = signature.outputs["y"]
        y.name = "NoOp"
        y.tensor_shape.unknown_rank = True
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    return folder


def test_definitions_are_those_of_the_file(tmp_path: Path) -> None:
    assert read_definitions(write(tmp_path, ["serve"])) == {
        "signature_0": SignatureDefinition(
            {"x": TensorDefinition("DT_FLOAT", "serving_default_x:0", (-1, 8))},
            {"y": TensorDefinition("DT_INVALID", "NoOp", None)},
            "tensorflow/serving/predict",
        )
    }


def test_the_graph_for_serving_is_taken(tmp_path: Path) -> None:
    write(tmp_path, ["train"], ["serve", "gpu"], ["serve"])
    assert list(read_definitions(tmp_path)) == ["signature_2"]
    write(tmp_path, ["train"], ["serve", "gpu"])
    assert list(read_definitions(tmp_path)) == ["signature_1"]
    write(tmp_path, ["train"])
    with pytest.raises(InvalidArgumentError, match=r"saved_model\.pb: no graph is tagged 'serve'"):
        read_definitions(tmp_path)


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    data = (write(tmp_path, ["serve"]) / "saved_model.pb").read_bytes()
    for cut in range(1, len(data)):
        (tmp_path / "saved_model.pb").write_bytes(data[:cut])
        with pytest.raises((DataLossError, InvalidArgumentError), match=r"saved_model\.pb: "):
            read_definitions(tmp_path)


def test_a_signature_without_a_file_is_defined_by_its_specs() -> None:
    assert define_signature(half_plus_two()).inputs == {
        "x": TensorDefinition("DT_FLOAT", "x:0", (-1,))
    }
    assert define_signature(echo("string")).outputs == {
        "y": TensorDefinition("DT_STRING", "y:0", None)
    }
    kinds = {"float64": "DT_DOUBLE", "float16": "DT_HALF", "bool": "DT_BOOL", "int64": "DT_INT64"}
    for dtype, name in kinds.items():
        assert define_signature(echo(dtype)).inputs["x"].dtype == name


def test_a_folder_without_a_saved_model_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=f"{tmp_path}: saved_model.pb is missing"):
        load_model(tmp_path)


def test_tags_choose_the_graph_that_is_served() -> None:
    folder = golden("v1_models/serve_and_train") / "model"
    model = load_model(folder, ("train",))
    assert set(model.signatures) == set(model.definitions) == {"eval", "train"}
    assert set(load_model(folder).signatures) == {"serving_default"}
    with pytest.raises(InvalidArgumentError, match="tags gpu, train"):
        load_model(folder, ("train", "gpu"))
    with pytest.raises(InvalidArgumentError, match="no graph is tagged 'train, gpu'"):
        read_definitions(folder, ("train", "gpu"))


def test_without_onnx_an_onnx_model_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    told = run_fresh(
        "import sys\nfrom pathlib import Path\nsys.modules['onnx'] = None\n"
        "from pinnace.serving.models.loading import load_model\n"
        "try:\n    load_model(Path(sys.argv[1]))\n"
        "except ModuleNotFoundError as error:\n    print(error)",
        tmp_path,
    )
    first, advice = told.splitlines()
    assert first == "ONNX models need the package onnx"
    assert "pip install " in advice
