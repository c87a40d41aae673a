"""Tables as objects: TensorFlow's results and errors, in functions, SavedModels and checkpoints."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace import lookup, ragged, saved_model, sparse
from pinnace.checkpoint import Checkpoint
from pinnace.framework import dtypes
from pinnace.framework.asset_path import Asset, AssetPath
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError, PermissionDeniedError
from pinnace.framework.module import Module
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.function import function
from pinnace.lookup.experimental import DenseHashTable, MutableHashTable
from pinnace.ops.array import constants
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.storage.bundle import BundleReader
from support.changed_models import write_changed

WORDS = TensorSpec([None], "string", name="words")


def vocabulary(folder: Path, text: str = "emerson\nlake\npalmer\ncrimnson") -> Path:
    path = folder / "vocabulary.txt"
    path.write_text(text)
    return path


def lines(path: Any, **options: Any) -> lookup.TextFileInitializer:
    index = lookup.TextFileIndex
    return lookup.TextFileInitializer(
        path, "string", index.WHOLE_LINE, "int64", index.LINE_NUMBER, **options
    )


def pairs(keys: Any, values: Any) -> lookup.KeyValueTensorInitializer:
    return lookup.KeyValueTensorInitializer(keys, values, "string", "int64")


@given(
    entries=st.dictionaries(st.text(max_size=3), st.integers(-9, 9), min_size=1),
    asked=st.lists(st.text(max_size=3), min_size=1),
)
def test_a_static_table_is_a_dictionary(entries: dict[str, int], asked: list[str]) -> None:
    table = lookup.StaticHashTable(pairs(list(entries), list(entries.values())), -100)
    expected = [entries.get(key, -100) for key in asked]
    assert table.lookup(asked).numpy().tolist() == expected
    assert table[convert_to_tensor(asked)].numpy().tolist() == expected
    assert table.size().numpy() == len(entries)
    keys, values = table.export()
    held = [key.decode() for key in keys.numpy().tolist()]
    assert dict(zip(held, values.numpy().tolist(), strict=True)) == entries


def test_other_keys_share_the_ids_after_the_known_ones(tmp_path: Path) -> None:
    # The example in TensorFlow's documentation of StaticVocabularyTable.
    table = lookup.StaticVocabularyTable(lines(vocabulary(tmp_path)), 3)
    words = ["palmer", "crimnson", "king", "tarkus", "black", "moon"]
    assert table.lookup(words).numpy().tolist() == [2, 3, 5, 6, 6, 4]
    assert table.size().numpy() == 7
    three = pairs(["emerson", "lake", "palmer"], [0, 1, 2])
    table = lookup.StaticVocabularyTable(three, 5)
    words = ["emerson", "lake", "palmer", "king", "crimson"]
    assert table[convert_to_tensor(words)].numpy().tolist() == [0, 1, 2, 6, 7]
    assert lookup.StaticVocabularyTable(None, 4).size().numpy() == 4


def test_a_vocabulary_of_numbers_is_asked_with_any_integers() -> None:
    known = lookup.KeyValueTensorInitializer([7, 9], [0, 1], "int64", "int64")
    table = lookup.StaticVocabularyTable(known, 2, lookup_key_dtype="int32")
    found = table.lookup(convert_to_tensor(np.array([9, 7, 8], np.int32))).numpy().tolist()
    assert found[:2] == [1, 0]
    assert found[2] in {2, 3}


def test_dtypes_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    table = lookup.StaticHashTable(pairs(["a"], [1]), -1)
    with pytest.raises(TypeError, match="keys must be string, got int64"):
        table.lookup(convert_to_tensor(np.array([1])))
    with pytest.raises(ValueError, match="default_value must be a scalar"):
        lookup.StaticHashTable(pairs(["a"], [1]), [1, 2])
    with pytest.raises(ValueError, match="num_oov_buckets must be at least 1"):
        lookup.StaticVocabularyTable(None, 0)
    with pytest.raises(TypeError, match="ids must be int64, got float32"):
        lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(["a"], [1.0]), 1)
    with pytest.raises(ValueError, match="line numbers are int64, got int32"):
        lookup.TextFileInitializer("x", "string", -2, "int32", -1)
    with pytest.raises(ValueError, match="filename must be the name of a file"):
        lines("")
    with pytest.raises(InvalidArgumentError, match="number of lines"):
        lookup.StaticHashTable(lines(vocabulary(tmp_path), vocab_size=9), -1)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_keys_may_be_ragged_or_sparse(traced: bool) -> None:
    rows = ragged.constant([["a", "x"], [], ["b"]])
    places = sparse.from_dense([["a", ""], ["x", "b"]])
    initial = pairs(["a", "b"], [0, 1])
    for table, missing in (
        (lookup.StaticHashTable(initial, -1), -1),
        (lookup.StaticVocabularyTable(initial, 1), 2),
    ):
        find = function(table.lookup) if traced else table.lookup
        assert find(rows).to_list() == [[0, missing], [], [1]]
        found = find(places)
        assert found.indices.numpy().tolist() == [[0, 0], [1, 0], [1, 1]]
        assert found.values.numpy().tolist() == [0, missing, 1]
        assert table[rows].to_list() == find(rows).to_list()


def test_values_may_be_vectors() -> None:
    table = MutableHashTable("string", "float32", [0.0, 0.5])
    table.insert(["a"], [[1.0, 2.0]])
    assert table.lookup([["a"], ["b"]]).numpy().tolist() == [[[1, 2]], [[0, 0.5]]]
    each = table.lookup(["a", "b"], [[8.0, 8.0], [9.0, 9.0]])
    assert each.numpy().tolist() == [[1, 2], [9, 9]]
    with pytest.raises(InvalidArgumentError, match=r"values must have shape \[1, 2\]"):
        table.insert(["a"], [1.0])


def test_a_dense_table_has_both_names_for_its_changes() -> None:
    table = DenseHashTable("int64", "string", "none", empty_key=0, deleted_key=-1)
    table.insert_or_assign([1, 2], ["a", "b"])
    table.erase([1])
    assert table[[1, 2]].numpy().tolist() == [b"none", b"b"]


class Model(Module):
    """Every kind of table."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.static = lookup.StaticHashTable(pairs(["a", "b"], [1, 2]), -1)
        self.vocabulary = lookup.StaticVocabularyTable(lines(path), 3)
        self.counts = MutableHashTable("string", "int64", -7)
        self.vectors = MutableHashTable("string", "float32", [0.0, 0.0])
        self.dense = DenseHashTable("string", "int64", -1, empty_key="", deleted_key="-")

    @function(input_signature=[WORDS])
    def __call__(self, words: Tensor) -> dict[str, Tensor]:
        return {
            "static": self.static[words],
            "vocabulary": self.vocabulary[words],
            "counts": self.counts[words],
            "vectors": self.vectors[words],
            "dense": self.dense[words],
            "size": self.counts.size(),
        }

    @function(input_signature=[WORDS])
    def add(self, words: Tensor) -> dict[str, Tensor]:
        before = self.counts.size()
        self.counts.insert(words, constants.ones_like(words, "int64"))
        return {"before": before, "after": self.counts.size()}


def results(found: dict[str, Tensor]) -> dict[str, Any]:
    return {name: value.numpy().tolist() for name, value in found.items()}


ASKED = ["a", "palmer", "zz", "old"]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    made = Model(vocabulary(tmp_path))
    made.counts.insert(["old"], constants.constant([9], "int64"))
    made.vectors.insert(["a"], [[1.0, 2.0]])
    made.dense.insert(["zz"], constants.constant([4], "int64"))
    return made


def test_a_saved_model_has_the_tables_and_what_is_in_them(model: Model, tmp_path: Path) -> None:
    expected = results(model(ASKED))
    assert expected["counts"] == [-7, -7, -7, 9]
    saved_model.save(model, tmp_path / "one", {"serving_default": model.__call__})
    (tmp_path / "vocabulary.txt").unlink()
    loaded = saved_model.load(tmp_path / "one")
    assert results(loaded(convert_to_tensor(ASKED))) == expected
    assert results(loaded.add(convert_to_tensor(["x", "y"]))) == {"before": 1, "after": 3}
    saved_model.save(loaded, tmp_path / "two", dict(loaded.signatures))
    shutil.move(tmp_path / "two", tmp_path / "three")
    shutil.rmtree(tmp_path / "one")
    again = saved_model.load(tmp_path / "three")
    assert results(again.signatures["serving_default"](words=ASKED)) == {**expected, "size": 3}


def test_two_loads_of_a_model_have_tables_of_their_own(model: Model, tmp_path: Path) -> None:
    saved_model.save(model, tmp_path / "model")
    one, two = (saved_model.load(tmp_path / "model") for _ in range(2))
    one.add(convert_to_tensor(["x"]))
    assert results(two.add(convert_to_tensor(["y"]))) == {"before": 1, "after": 2}


def test_without_objects_the_signatures_share_the_tables(model: Model, tmp_path: Path) -> None:
    signatures = {"ask": model.__call__, "add": model.add}
    saved_model.save(model, tmp_path / "model", signatures)
    file = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(file.read_bytes())
    message.meta_graphs[0].ClearField("object_graph_def")
    write_changed(file, message)
    one, two = (saved_model.load(tmp_path / "model") for _ in range(2))
    found = results(one.signatures["ask"](words=ASKED))
    assert (found["static"], found["vocabulary"]) == ([1, -1, -1, -1], [4, 2, 5, 5])
    one.signatures["add"](words=["zz"])
    assert results(one.signatures["ask"](words=ASKED))["counts"] == [-7, -7, 1, 9]
    # The table's entries in the checkpoint are restored, as by a session.
    assert results(two.signatures["ask"](words=ASKED))["counts"] == [-7, -7, -7, 9]


def test_a_saved_model_reads_no_file_but_its_own(tmp_path: Path) -> None:
    secret = vocabulary(tmp_path, "secret")

    class Thief(Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = lookup.StaticHashTable(lines(secret), -1)

        @function(input_signature=[WORDS])
        def ask(self, words: Tensor) -> Tensor:
            return self.table[words]

    thief = Thief()
    array = np.empty((), object)
    array[()] = str(secret).encode()
    # The path as a constant of the model, in place of its asset.
    thief.table._initializer._filename._tensor = convert_to_tensor(array)  # type: ignore[attr-defined]
    object.__setattr__(thief.table._initializer, "_tracked", {})
    saved_model.save(thief, tmp_path / "model")
    loaded = saved_model.load(tmp_path / "model")
    with pytest.raises(PermissionDeniedError, match="may be read"):
        loaded.ask(convert_to_tensor(["secret"]))


def test_an_asset_is_a_path_that_the_program_vouches_for(tmp_path: Path) -> None:
    path = Asset(tmp_path / "x").asset_path._array[()]
    assert type(path) is AssetPath
    assert type(path[:-1]) is bytes
    assert type(path + b"") is bytes


def test_checkpoints_hold_what_mutable_tables_hold(tmp_path: Path) -> None:
    table = MutableHashTable("string", "int64", -1)
    table.insert(["a", "b"], constants.constant([1, 2], "int64"))
    prefix = Checkpoint(table=table).write(str(tmp_path / "ckpt"))
    reader = BundleReader(prefix)
    assert sorted(key for key in reader.keys() if key.startswith("table")) == [  # noqa: SIM118 (no dict)
        "table/.ATTRIBUTES/table-keys",
        "table/.ATTRIBUTES/table-values",
    ]
    other = MutableHashTable("string", "int64", -1)
    other.insert(["c"], constants.constant([3], "int64"))
    Checkpoint(table=other).read(prefix).assert_consumed()
    assert other[["a", "b", "c"]].numpy().tolist() == [1, 2, -1]
    wrong = MutableHashTable("int64", "int64", -1)
    with pytest.raises(InvalidArgumentError, match="stored entries are"):
        Checkpoint(table=wrong).read(prefix)


def test_a_table_may_be_left_out_of_checkpoints(tmp_path: Path) -> None:
    table = MutableHashTable("string", "int64", -1, checkpoint=False)
    prefix = Checkpoint(table=table).write(str(tmp_path / "ckpt"))
    assert not [key for key in BundleReader(prefix).keys() if key.startswith("table")]  # noqa: SIM118 (no dict)


def test_a_table_can_be_filled_from_what_a_loaded_model_vouches_for(tmp_path: Path) -> None:
    asset = Asset(vocabulary(tmp_path))
    for name in (asset, asset.asset_path, str(asset.path)):
        table = lookup.StaticHashTable(lines(name, value_index_offset=10), -1)
        assert table[["lake"]].numpy().tolist() == [11]
    assert table.key_dtype is dtypes.string


def test_tensorflow_is_told_how_to_restore_what_mutable_tables_hold(
    model: Model, tmp_path: Path
) -> None:
    saved_model.save(model, tmp_path / "model", {"serving_default": model.__call__})
    message = SavedModel.FromString((tmp_path / "model" / "saved_model.pb").read_bytes())
    (meta,) = message.meta_graphs
    nodes = meta.object_graph_def.nodes
    names = {child.node_id: child.local_name for child in nodes[0].children}
    told = {names[n]: one.saveable_objects for n, one in enumerate(nodes) if one.saveable_objects}
    # A dense table would have to be stored in the order of TensorFlow's hash function.
    assert sorted(told) == ["counts", "vectors"]
    assert all(list(one) == ["table"] for one in told.values())
    for one in told.values():
        for number in (one["table"].save_function, one["table"].restore_function):
            name = nodes[number].bare_concrete_function.concrete_function_name
            assert name in meta.object_graph_def.concrete_functions
    imports = [node.op for node in meta.graph_def.node if node.op == "LookupTableImportV2"]
    assert len(imports) == 2
