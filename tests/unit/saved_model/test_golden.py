"""SavedModels that TensorFlow wrote load, and give TensorFlow's results."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.framework.containers import ListWrapper
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.proto.saved_model_pb2 import SavedModel
from support.changed_models import write_changed
from support.corpus import GOLDEN, TOLERANCE
from support.recorded import largest_difference


@pytest.mark.parametrize("name", sorted(TOLERANCE))
def test_a_golden_model_computes_what_tensorflow_computed(name: str) -> None:
    model = saved_model.load(GOLDEN / name / "model")
    assert largest_difference(model, GOLDEN / name / "io.npz") <= TOLERANCE[name]


@pytest.mark.parametrize("name", sorted(TOLERANCE))
def test_a_golden_model_saved_again_computes_the_same(name: str, tmp_path: Path) -> None:
    model = saved_model.load(GOLDEN / name / "model")
    saved_model.save(model, tmp_path / "again")
    again = saved_model.load(tmp_path / "again")
    assert largest_difference(again, GOLDEN / name / "io.npz") <= TOLERANCE[name]


@pytest.mark.parametrize("name", ["keras_mlp", "several_signatures", "poly_module"])
def test_without_objects_the_signatures_are_the_same(name: str, tmp_path: Path) -> None:
    """The main graph alone, as loaded by TensorFlow 1 and C++."""
    shutil.copytree(GOLDEN / name / "model", tmp_path / "model")
    path = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].ClearField("object_graph_def")
    write_changed(path, message)
    bare, whole = saved_model.load(tmp_path / "model"), saved_model.load(GOLDEN / name / "model")
    assert set(bare.signatures) == set(whole.signatures)
    for key, function in whole.signatures.items():
        feeds = {
            name: np.ones([2 if n is None else n for n in spec.shape], spec.dtype.numpy)
            for name, spec in function.structured_input_signature[1].items()
        }
        wanted, found = function.run_arrays(feeds), bare.signatures[key].run_arrays(feeds)
        assert {n: y.tolist() for n, y in found.items()} == {
            n: y.tolist() for n, y in wanted.items()
        }


def model(name: str) -> Any:
    return saved_model.load(GOLDEN / name / "model")


def test_children_are_attributes() -> None:
    loaded = model("poly_module")
    assert isinstance(loaded.w, Variable)
    assert loaded.w.name == "w:0"
    assert loaded.w.shape == [3, 2]
    assert loaded.w.trainable
    assert loaded.tensorflow_version == "2.21.0"
    keras = model("keras_mlp")
    assert isinstance(keras.variables, ListWrapper)
    assert all(isinstance(variable, Variable) for variable in keras.trainable_variables)


def test_a_variable_is_read_when_it_is_needed_and_nobody_writes_into_the_file() -> None:
    loaded = model("poly_module")
    resource = loaded.w.resource
    assert resource._array is None
    assert not resource.read().flags.writeable
    loaded.w.assign_add(np.ones((3, 2), np.float32))
    assert (loaded.w.numpy() == model("poly_module").w.numpy() + 1).all()


def test_a_signature_is_decoded_when_it_is_asked_for() -> None:
    loaded = model("several_signatures")
    assert list(loaded.signatures) == ["a", "b", "describe"]
    assert loaded.signatures["a"] is loaded.signatures["a"]
    assert "c" not in loaded.signatures
    with pytest.raises(KeyError, match="no signature 'c'; the model has: a, b, describe"):
        loaded.signatures["c"]


def test_a_call_takes_the_trace_that_fits() -> None:
    f = model("poly_module").f
    x = convert_to_tensor(np.ones((2, 3), np.float32))
    plain, trained = f(x), f(x, 2, training=True)
    assert set(plain) == {"sum", "y"}
    assert (plain["y"].numpy() != trained["y"].numpy()).all()
    # An array counts as a tensor; a nested list becomes one only if no trace takes it as a list.
    assert (f(np.ones((2, 3), np.float32))["y"].numpy() == plain["y"].numpy()).all()
    assert (f([[1.0, 1.0, 1.0]])["y"].numpy() == plain["y"].numpy()[:1]).all()


def test_a_call_that_no_trace_fits_says_what_there_is() -> None:
    f = model("poly_module").f
    with pytest.raises(ValueError, match="no saved trace fits") as caught:
        f(convert_to_tensor([1.0, 2.0]))
    assert "got (float32[2], 2, training=False)" in str(caught.value)
    assert "saved (float32[?, 3], 2, training=False)" in str(caught.value)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()


def test_a_trace_is_found_by_its_specs() -> None:
    f = model("poly_module").f
    concrete = f.get_concrete_function(TensorSpec([None, 3], "float32"), 3)
    assert concrete.structured_input_signature[0][1] == 3
    assert len(f.concrete_functions) == 5


def test_two_loaded_models_share_nothing() -> None:
    one, other = model("counter"), model("counter")
    variables = [
        name for name, child in one._trackable_children().items() if isinstance(child, Variable)
    ]
    for name in variables:
        before = getattr(other, name).numpy()
        variable = getattr(one, name)
        variable.assign(np.zeros_like(variable.numpy()))
        assert (getattr(other, name).numpy() == before).all()


def test_a_child_with_a_name_of_the_librarys_own_is_a_child(tmp_path: Path) -> None:
    """Keras 3 models have a list named `_tracked`, like an attribute of objects here."""
    shutil.copytree(GOLDEN / "keras_mlp" / "model", tmp_path / "model")
    path = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    root = message.meta_graphs[0].object_graph_def.nodes[0]
    number = next(one.node_id for one in root.children if one.local_name == "variables")
    for name in ("_tracked", "_trackable_children", "__class__", "_track"):
        root.children.add(local_name=name, node_id=number)
    write_changed(path, message)
    loaded = saved_model.load(tmp_path / "model")
    children = loaded._trackable_children()
    assert children["_tracked"] is children["__class__"] is loaded.variables
    assert largest_difference(loaded, GOLDEN / "keras_mlp" / "io.npz") <= TOLERANCE["keras_mlp"]
