"""Models of version 1 that TensorFlow wrote: variables, tables, tag sets, frozen graphs."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.options import LoadOptions
from support.changed_models import write_changed
from support.golden import golden
from support.recorded import largest_difference
from support.v1_models import answers_of, load_v1

FOLDER = Path(__file__).parents[2] / "golden" / "v1_models"
NAMES = sorted(one.parent.name for one in FOLDER.glob("*/about.json"))
# Names that are not keywords: a signature of TensorFlow 2 has others, and components separately.
WITHOUT_KEYWORDS = {"sparse_beside_names_with_signs"}
# Models with variables without a value, which cannot be saved.
WITHOUT_VALUES = {"asked_whether_initialised"}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_version_1_computes_what_tensorflow_computed(name: str) -> None:
    assert answers_of(golden(f"v1_models/{name}")) <= 1e-6


@pytest.mark.parametrize(
    "name",
    [n for n in NAMES if not n.startswith("frozen") and n not in WITHOUT_VALUES | WITHOUT_KEYWORDS],
)
def test_a_model_of_version_1_saved_again_computes_the_same(name: str, tmp_path: Path) -> None:
    saved_model.save(load_v1(FOLDER / name), tmp_path / "again")
    again = saved_model.load(tmp_path / "again")
    assert largest_difference(again, FOLDER / name / "io.npz") <= 1e-6


def altered(name: str, folder: Path, change: Any) -> Path:
    """A copy of a golden model after `change` of its main graph."""
    shutil.copytree(FOLDER / name / "model", folder / "model")
    path = folder / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    change(message.meta_graphs[0])
    write_changed(path, message)
    return folder / "model"


def test_a_wrong_dtype_in_a_signature_does_not_refuse_the_model(tmp_path: Path) -> None:
    def change(graph: Any) -> None:
        for signature in graph.signature_def.values():
            for info in signature.inputs.values():
                info.dtype = 1 if info.dtype == 7 else 7  # float for string, and string for float

    loaded = saved_model.load(altered("half_plus_two", tmp_path, change))
    found = loaded.signatures["serving_default"](x=np.float32([[1], [5]]))
    np.testing.assert_array_equal(found["y"], [[2.5], [4.5]])


def test_two_loaded_models_have_variables_of_their_own() -> None:
    one, other = load_v1(FOLDER / "counter_by_reference"), load_v1(FOLDER / "counter_by_reference")
    step = {"step": np.float32(5)}
    one.signatures["add"].run_arrays(step)
    assert one.signatures["look"].run_arrays(step)["total"] == 11
    assert other.signatures["look"].run_arrays(step)["total"] == 6


def test_an_initialiser_that_cannot_run_is_told_by_the_signatures_that_need_it(
    tmp_path: Path,
) -> None:
    def change(meta: Any) -> None:
        for node in meta.graph_def.node:
            if node.op == "InitializeTableFromTextFile":
                node.op = "InitializeTableFromTheMoon"

    folder = altered("text_file_columns", tmp_path, change)
    with pytest.raises(
        UnimplementedError,
        match=r"(?s)has no value.*the initialiser of the model.*InitializeTableFromTheMoon",
    ):
        saved_model.load(folder).signatures["serving_default"]


def test_a_missing_file_of_a_table_is_told_with_its_name(tmp_path: Path) -> None:
    folder = altered("text_file_columns", tmp_path, lambda _: None)
    (folder / "assets" / "weights.csv").unlink()
    with pytest.raises(NotFoundError, match=r"weights\.csv"):
        saved_model.load(folder).signatures["serving_default"]


def test_a_variable_that_nothing_sets_says_so(tmp_path: Path) -> None:
    folder = altered("half_plus_two", tmp_path, lambda meta: meta.collection_def.clear())
    model = saved_model.load(folder)
    x = np.ones((1, 1), np.float32)
    assert model.signatures["serving_default"].run_arrays({"x": x})["y"] == 2.5
    with pytest.raises(FailedPreconditionError, match=r"'filename_tensor' has no value"):
        model.signatures["name_of_file"].run_arrays({"x": x})


def test_without_the_checkpoint_nothing_is_run() -> None:
    options = LoadOptions(experimental_skip_checkpoint=True)
    model = saved_model.load(FOLDER / "partly_initialised" / "model", options=options)
    assert model.signatures["serving_default"].graph.nodes
    assert not any(variable.resource.is_initialized for variable in model.variables)


def test_tags_choose_one_of_several_graphs() -> None:
    folder = FOLDER / "serve_and_train" / "model"
    assert list(saved_model.load(folder).signatures) == ["serving_default"]
    assert list(saved_model.load(folder, tags=["train"]).signatures) == ["eval", "train"]
    with pytest.raises(
        InvalidArgumentError, match=r"(?s)no graph with the tags gpu, serve.*with: serve; train"
    ):
        saved_model.load(folder, tags=["serve", "gpu"])


# Frozen graphs.


MIDDLE = FOLDER / "frozen_from_the_middle" / "graph.pb"
TEXT = FOLDER / "frozen_mlp_resources_as_text" / "graph.pbtxt"


def test_inputs_and_outputs_are_found_where_none_are_named() -> None:
    function = saved_model.load_frozen_graph(TEXT)
    inputs = function.structured_input_signature[1]
    assert {name: spec.text for name, spec in inputs.items()} == {"x": "float32[?, 4]"}
    assert list(function.structured_outputs) == ["scores"]
    found = function(x=np.zeros((2, 4), np.float32))["scores"].numpy()
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-6)


def test_names_stay_as_they_are_given() -> None:
    function = saved_model.load_frozen_graph(MIDDLE, ["decoded:0"], ["best:1", "best"])
    found = function.run_arrays({"decoded:0": np.array([1, 5, 3], np.float32)})
    assert {name: value.tolist() for name, value in found.items()} == {
        "best:1": [1, 2],
        "best": [10, 6],
    }


def test_a_name_that_the_graph_does_not_have_is_told_with_what_there_is() -> None:
    with pytest.raises(InvalidArgumentError, match=r"(?s)no output 'score'.*Try: scores"):
        saved_model.load_frozen_graph(TEXT, outputs=["score"])
    with pytest.raises(InvalidArgumentError, match=r"(?s)no input 'y'.*Try: x"):
        saved_model.load_frozen_graph(TEXT, inputs=["y"])


def test_what_is_no_frozen_graph_is_refused(tmp_path: Path) -> None:
    model = FOLDER / "serve_and_train" / "model" / "saved_model.pb"
    shutil.copy(model, tmp_path / "graph.pb")
    with pytest.raises(InvalidArgumentError, match=r"(?s)file of a SavedModel.*Try: its folder"):
        saved_model.load_frozen_graph(tmp_path / "graph.pb")
    with pytest.raises(NotFoundError, match="no such file"):
        saved_model.load_frozen_graph(tmp_path / "other.pb")
    for name, data in (("empty.pb", b""), ("cut.pb", MIDDLE.read_bytes()[:-3]), ("t.pbtxt", b"{")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataLossError, match=name):
            saved_model.load_frozen_graph(tmp_path / name)


def test_a_graph_with_variables_is_refused_with_what_to_do(tmp_path: Path) -> None:
    message = SavedModel.FromString(
        (FOLDER / "counter_by_reference" / "model" / "saved_model.pb").read_bytes()
    )
    (tmp_path / "graph.pb").write_bytes(message.meta_graphs[0].graph_def.SerializeToString())
    signature = message.meta_graphs[0].signature_def["look"]
    with pytest.raises(InvalidArgumentError, match=r"(?s)not frozen.*convert_variables"):
        saved_model.load_frozen_graph(
            tmp_path / "graph.pb", None, [signature.outputs["total"].name]
        )


def test_a_table_in_a_frozen_graph_is_filled(tmp_path: Path) -> None:
    model = FOLDER / "hash_table_by_reference" / "model" / "saved_model.pb"
    meta = SavedModel.FromString(model.read_bytes()).meta_graphs[0]
    (tmp_path / "graph.pb").write_bytes(meta.graph_def.SerializeToString())
    name = meta.signature_def["serving_default"].outputs["ids"].name
    function = saved_model.load_frozen_graph(tmp_path / "graph.pb", outputs=[name])
    words = np.array([b"three", b"?"], object)
    assert function.run_arrays({"words": words})[name].tolist() == [3, -1]


def test_what_is_known_of_each_program_is_written_beside_it() -> None:
    assert {json.loads((FOLDER / name / "about.json").read_text())["kind"] for name in NAMES} == {
        "frozen",
        "saved_model",
    }
