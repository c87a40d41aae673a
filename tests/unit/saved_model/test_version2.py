"""SavedModels of TensorFlow 2 from practice: slots, gaps, tables, functions as roots."""

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.containers import ListWrapper, TupleWrapper
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.missing_kernels import unsupported_signatures
from support.changed_models import write_changed
from support.golden import golden
from support.recorded import largest_difference, recorded_calls

FOLDER = Path(__file__).parents[2] / "golden" / "version2"
ALL = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
# Keras' embeddings and products sum in another order.
TOLERANCE = 1e-6


def model_of(name: str) -> Path:
    return golden(f"version2/{name}/model")


@pytest.mark.parametrize("name", ALL)
def test_it_computes_what_tensorflow_computed(name: str) -> None:
    loaded = tf.saved_model.load(model_of(name))
    assert largest_difference(loaded, FOLDER / name / "io.npz") <= TOLERANCE
    assert unsupported_signatures(loaded.signatures) == {}


@pytest.mark.parametrize("name", ALL)
def test_saved_again_it_computes_the_same(name: str, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(model_of(name))
    if name.endswith(("_root", "_root_with_traces")):
        signatures = dict(loaded.signatures)
        loaded, loaded.function = tf.Module(), loaded
        tf.saved_model.save(loaded, tmp_path / "again", signatures=signatures)
    else:
        tf.saved_model.save(loaded, tmp_path / "again")
    again = tf.saved_model.load(tmp_path / "again")
    assert largest_difference(again, FOLDER / name / "io.npz") <= TOLERANCE


def slots_of(model: Any) -> dict[str, np.ndarray[Any, Any]]:
    names = model.optimizer.get_slot_names()
    return {name: model.optimizer.get_slot(model.w, name).numpy() for name in names}


def test_an_optimizer_keeps_its_slots() -> None:
    """After one step from zero: m = 0.1 g and v = 0.001 g^2 (Adam), momentum = -0.1 g (SGD)."""
    adam = slots_of(tf.saved_model.load(model_of("adam_module")))
    assert sorted(adam) == ["m", "v"]
    assert adam["m"].shape == (3, 2)
    assert (adam["m"] != 0).all()
    # In float32 1 - 0.999 is off by 2e-5.
    np.testing.assert_allclose(adam["v"], 0.1 * adam["m"] ** 2, rtol=1e-4)
    sgd = slots_of(tf.saved_model.load(model_of("momentum_module")))
    assert list(sgd) == ["momentum"]
    assert (sgd["momentum"] != 0).all()


def test_slots_are_written_where_tensorflow_reads_them(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(model_of("adam_module"))
    tf.saved_model.save(loaded, tmp_path / "again")
    prefix = str(tmp_path / "again" / "variables" / "variables")
    stored = dict(tf.train.list_variables(prefix))
    original = dict(tf.train.list_variables(str(model_of("adam_module") / "variables/variables")))
    wanted = {key for key in original if ".OPTIMIZER_SLOT" in key}
    assert wanted == {
        f"w/.OPTIMIZER_SLOT/optimizer/{slot}/.ATTRIBUTES/VARIABLE_VALUE" for slot in "mv"
    }
    assert wanted <= set(stored)
    again = tf.saved_model.load(tmp_path / "again")
    for name, value in slots_of(loaded).items():
        np.testing.assert_array_equal(slots_of(again)[name], value)


def test_a_checkpoint_holds_slots_too(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(model_of("adam_module"))
    prefix = tf.train.Checkpoint(model=loaded).write(tmp_path / "checkpoint")
    other = tf.saved_model.load(model_of("adam_module"))
    slot = other.optimizer.get_slot(other.w, "m")
    slot.assign(tf.zeros_like(slot))
    tf.train.Checkpoint(model=other).read(prefix).assert_consumed()
    np.testing.assert_array_equal(slots_of(other)["m"], slots_of(loaded)["m"])


def test_an_element_that_is_not_tracked_is_none() -> None:
    loaded = tf.saved_model.load(model_of("lists_with_holes"))
    assert isinstance(loaded.parts, ListWrapper)
    assert [one is None for one in loaded.parts] == [False, True, True, True, False]
    assert list(loaded.named) == ["a"]
    assert isinstance(loaded.pair, TupleWrapper)
    assert loaded.pair[1] is None
    assert loaded.nested[0][0] is None
    assert loaded.nested[1]["x"][1].numpy().tolist() == [7.0]


def changed(folder: Path, name: str, change: Any) -> Path:
    """A golden model with a changed message."""
    shutil.copytree(model_of(name), folder)
    path = folder / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    change(message.meta_graphs[0])
    write_changed(path, message)
    return folder


@pytest.mark.parametrize("index", ["9999999", "99999999999999999999"])
def test_a_list_cannot_be_made_of_holes_alone(index: str, tmp_path: Path) -> None:
    def change(meta: Any) -> None:
        for node in meta.object_graph_def.nodes:
            for child in node.children:
                if node.user_object.identifier == "trackable_list_wrapper":
                    child.local_name = index

    folder = changed(tmp_path / "model", "lists_with_holes", change)
    with pytest.raises(InvalidArgumentError, match=r"elements of lists are not|too many digits"):
        tf.saved_model.load(folder)


def test_a_slot_of_an_object_that_is_not_there_is_damage(tmp_path: Path) -> None:
    def change(meta: Any) -> None:
        for node in meta.object_graph_def.nodes:
            for slot in node.slot_variables:
                slot.slot_variable_node_id = 999

    with pytest.raises(tf.errors.DataLossError, match="refers to object 999"):
        tf.saved_model.load(changed(tmp_path / "model", "adam_module", change))


def test_a_function_may_be_the_root() -> None:
    x = np.float32([[1, 2, 3]])
    grow = tf.saved_model.load(model_of("function_root_with_traces"))
    assert grow(tf.constant(x), 3)["y"].numpy().tolist() == [[4.0, 7.0, 10.0]]
    assert list(grow.signatures) == ["three"]
    assert grow.tensorflow_version.startswith("2.")
    assert tf.saved_model.load(model_of("concrete_root"))(tf.constant(x))["y"].shape == [1, 2]


def test_no_thread_sees_a_table_that_is_not_filled_yet() -> None:
    (signature, feeds, wanted) = recorded_calls(FOLDER / "table_from_file" / "io.npz")[0]
    for _ in range(10):
        loaded = tf.saved_model.load(model_of("table_from_file"))
        start = threading.Barrier(8)
        found: list[Any] = []

        def ask(loaded: Any = loaded, start: Any = start, found: list[Any] = found) -> None:
            start.wait()
            found.append(loaded.signatures[signature].run_arrays(feeds))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        for answer in found:
            assert {k: v.tolist() for k, v in answer.items()} == {
                k: v.tolist() for k, v in wanted.items()
            }


def test_a_ragged_result_is_its_parts_to_a_server() -> None:
    split = tf.saved_model.load(model_of("ragged_words")).signatures["serving_default"]
    assert list(split.array_outputs) == ["lengths", "words/values", "words/row_splits"]
    found = split.run_arrays({"text": np.array([b"a b", b"", b"c"], object)})
    assert found["words/values"].tolist() == [b"a", b"b", b"c"]
    assert found["words/row_splits"].tolist() == [0, 2, 2, 3]
    assert split(text=tf.constant(["a b", "c"]))["words"].to_list() == [[b"a", b"b"], [b"c"]]


def test_a_table_that_needs_itself_says_so(tmp_path: Path) -> None:
    def change(meta: Any) -> None:
        nodes = meta.object_graph_def.nodes
        tables = [n for n, node in enumerate(nodes) if node.WhichOneof("kind") == "resource"]
        for number in tables:
            for child in nodes[number].children:
                if child.local_name == "_create_resource":
                    makers = list(nodes[child.node_id].function.concrete_functions)
                    for name in makers or [
                        nodes[child.node_id].bare_concrete_function.concrete_function_name
                    ]:
                        meta.object_graph_def.concrete_functions[name].bound_inputs.append(number)
                        for function in meta.graph_def.library.function:
                            if function.signature.name == name:
                                function.signature.input_arg.add(name="itself", type=20)

    loaded = tf.saved_model.load(changed(tmp_path / "model", "table_from_file", change))
    with pytest.raises(FailedPreconditionError, match="needs the handle that it makes"):
        loaded.signatures["serving_default"]
