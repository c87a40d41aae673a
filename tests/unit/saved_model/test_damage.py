"""For any damage to a model's files, loading is right or raises one clear error."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinnace import saved_model
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
)
from pinnace.proto.saved_model_pb2 import AssetFileDef, MetaGraphDef, SavedModel
from support.changed_models import write_changed
from support.recorded import largest_difference

GOLDEN = Path(__file__).parents[2] / "golden" / "saved_models"
PB = "saved_model.pb"
INDEX = "variables/variables.index"
DATA = "variables/variables.data-00000-of-00001"


def copied(folder: Path, name: str = "poly_module") -> Path:
    target = folder / "model"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(GOLDEN / name / "model", target)
    return target


def use(model: Path) -> None:
    """Load it and run every signature on ones."""
    loaded = saved_model.load(model)
    for function in loaded.signatures.values():
        function.run_arrays(
            {
                name: np.ones([2 if n is None else n for n in spec.shape], spec.dtype.numpy)
                for name, spec in function.structured_input_signature[1].items()
                if spec.shape.rank is not None
            }
        )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere: it is not a folder"):
        saved_model.load(tmp_path / "nowhere")


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"saved_model\.pb is missing$"):
        saved_model.load(tmp_path)


def test_the_folder_of_versions_instead_of_one(tmp_path: Path) -> None:
    for version in ("2", "10", "other"):
        (tmp_path / version).mkdir()
    with pytest.raises(NotFoundError, match=r"Try: .*/10$"):
        saved_model.load(tmp_path)


@pytest.mark.parametrize("name", ["poly_module", "v1_mapped"])
def test_the_text_form(tmp_path: Path, name: str) -> None:
    model = copied(tmp_path, name)
    message = SavedModel.FromString((model / PB).read_bytes())
    (model / PB).unlink()
    text = text_format.MessageToString(message)
    (model / "saved_model.pbtxt").write_text(text)
    assert largest_difference(saved_model.load(model), GOLDEN / name / "io.npz") <= 2e-6
    (model / "saved_model.pbtxt").write_text(text.replace("meta_graphs {", "meta_graph {", 1))
    with pytest.raises(
        DataLossError, match=r"saved_model\.pbtxt .*not a SavedModel in text form: 2:"
    ):
        saved_model.load(model)


def test_the_text_form_of_what_is_packed(tmp_path: Path) -> None:
    """TensorFlow writes the name of the packed message, and its fields."""
    model = copied(tmp_path, "v1_mapped")
    message = SavedModel.FromString((model / PB).read_bytes())
    (model / PB).unlink()
    packed = message.meta_graphs[0].collection_def.pop("saved_model_assets")
    asset = AssetFileDef.FromString(packed.any_list.value[0].value)
    collection = f"""
      collection_def {{ key: "saved_model_assets" value {{ any_list {{ value {{
        [type.googleapis.com/tensorflow.AssetFileDef] {{
          tensor_info {{ name: "{asset.tensor_info.name}" }} filename: "{asset.filename}" }}
      }} }} }} }}
    """
    text = text_format.MessageToString(message).rstrip().removesuffix("}")
    (model / "saved_model.pbtxt").write_text(text + collection + "}")
    assert largest_difference(saved_model.load(model), GOLDEN / "v1_mapped" / "io.npz") == 0


@pytest.mark.parametrize("name", [INDEX, DATA])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    model = copied(tmp_path)
    (model / name).unlink()
    with pytest.raises(NotFoundError, match=name.partition("/")[2]):
        saved_model.load(model)


@pytest.mark.parametrize("name", [INDEX, DATA])
def test_a_cut_off_file_is_named(tmp_path: Path, name: str) -> None:
    model = copied(tmp_path)
    data = (model / name).read_bytes()
    (model / name).write_bytes(data[: len(data) // 3])
    with pytest.raises(DataLossError, match=name.partition("/")[2]):
        saved_model.load(model)


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / PB).mkdir()
    with pytest.raises(FailedPreconditionError, match=PB):
        saved_model.load(tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xff\xff", b"<html>"], ids=["empty", "garbage", "html"]
)
def test_a_file_that_is_no_model(tmp_path: Path, data: bytes) -> None:
    (tmp_path / PB).write_bytes(data)
    with pytest.raises(DataLossError, match=PB):
        saved_model.load(tmp_path)


def test_a_wrong_value_of_a_variable_is_found_when_it_is_read(tmp_path: Path) -> None:
    model = copied(tmp_path)
    data = bytearray((model / DATA).read_bytes())
    data[0] ^= 1
    (model / DATA).write_bytes(data)
    loaded = saved_model.load(model)
    with pytest.raises(DataLossError, match="do not match their checksum"):
        use(model)
    with pytest.raises(DataLossError, match="do not match their checksum"):
        saved_model.load(model, options=saved_model.LoadOptions(verify=True))
    del loaded


def test_other_tags(tmp_path: Path) -> None:
    del tmp_path
    model = GOLDEN / "poly_module" / "model"
    assert saved_model.load(model, tags="serve").signatures
    assert saved_model.load(model, tags=["serve"]).signatures
    with pytest.raises(InvalidArgumentError, match=r"no graph with the tags gpu, serve\n.*: serve"):
        saved_model.load(model, tags={"serve", "gpu"})


def test_two_graphs_and_no_tags(tmp_path: Path) -> None:
    model = copied(tmp_path)
    message = SavedModel.FromString((model / PB).read_bytes())
    message.meta_graphs.add().CopyFrom(message.meta_graphs[0])
    del message.meta_graphs[1].meta_info_def.tags[:]
    message.meta_graphs[1].meta_info_def.tags.append("train")
    write_changed(model / PB, message)
    assert saved_model.load(model).signatures
    del message.meta_graphs[0].meta_info_def.tags[:]
    write_changed(model / PB, message)
    with pytest.raises(InvalidArgumentError, match="no tags; train"):
        saved_model.load(model)


def changed(change: Callable[[MetaGraphDef], object]) -> Callable[[Path], Path]:
    def apply(folder: Path) -> Path:
        model = copied(folder)
        message = SavedModel.FromString((model / PB).read_bytes())
        change(message.meta_graphs[0])
        write_changed(model / PB, message)
        return model

    return apply


def _first(meta: MetaGraphDef, kind: str) -> object:
    return next(n for n in meta.object_graph_def.nodes if n.WhichOneof("kind") == kind)


CHANGES: dict[str, Callable[[MetaGraphDef], object]] = {
    "there is no function": lambda m: m.graph_def.library.function.pop(),
    "has no constant": lambda m: m.graph_def.ClearField("node"),
    "no value for 1 of 2": lambda m: setattr(
        m.object_graph_def.nodes[0].children[0], "local_name", "v"
    ),
    "is float64": lambda m: setattr(_first(m, "variable").variable, "dtype", 2),  # type: ignore[attr-defined]
    "is no dtype": lambda m: setattr(_first(m, "variable").variable, "dtype", 77),  # type: ignore[attr-defined]
    "refers to object 99": lambda m: setattr(
        m.object_graph_def.nodes[0].children[0], "node_id", 99
    ),
    "are bound to it": lambda m: [
        f.bound_inputs.pop() for f in m.object_graph_def.concrete_functions.values()
    ],
}


@pytest.mark.parametrize("words", CHANGES)
def test_an_inconsistent_model_says_what_is_wrong(tmp_path: Path, words: str) -> None:
    model = changed(CHANGES[words])(tmp_path)
    with pytest.raises(OpError, match=words) as caught:
        use(model)
    assert str(model) in str(caught.value)


def test_an_asset_stays_in_its_folder(tmp_path: Path) -> None:
    model = copied(tmp_path, "lookup_assets")
    message = SavedModel.FromString((model / PB).read_bytes())
    for name in ("../saved_model.pb", "/etc/passwd", "a/../../x", ""):
        message.meta_graphs[0].asset_file_def[0].filename = name
        write_changed(model / PB, message)
        with pytest.raises(InvalidArgumentError, match="is not in assets/"):
            saved_model.load(model)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_bytes_are_one_error_or_a_model(tmp_path: Path, data: st.DataObject) -> None:
    model = copied(tmp_path, data.draw(st.sampled_from(["poly_module", "multi_io", "v1_style"])))
    path = model / data.draw(st.sampled_from([PB, PB, PB, INDEX]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    # Without a fingerprint, which would refuse it first.
    write_changed(path, bytes(content))
    try:
        use(model)
    except OpError as error:
        assert str(error)  # noqa: PT017 (a model is fine too)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_one_error(tmp_path: Path, cut: float) -> None:
    model = copied(tmp_path)
    data = (model / PB).read_bytes()
    (model / PB).write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(OpError) as caught:
        use(model)
    assert str(model) in str(caught.value)
