"""Functions of ragged and sparse tensors are saved and loaded; specs are stored in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError
from pinnace.saved_model.codecs.structures import decode_structure, encode_structure
from support.fresh_process import run_fresh

if TYPE_CHECKING:
    from pathlib import Path

SPECS = [
    tf.RaggedTensorSpec([None, None], tf.float32),
    tf.RaggedTensorSpec([3, None, 2], tf.string, ragged_rank=1, row_splits_dtype=tf.int32),
    tf.SparseTensorSpec([None, 3], tf.int64),
    tf.SparseTensorSpec(None, tf.bool),
]


class Model(tf.Module):
    @tf.function(input_signature=[SPECS[0], tf.SparseTensorSpec([None, 3], tf.float32)])
    def both(self, r: Any, s: Any) -> Any:
        return {"r": r * 2.0, "s": tf.sparse.to_dense(s), "t": tf.sparse.reorder(s)}

    @tf.function(input_signature=SPECS[:1])
    def sums(self, r: Any) -> Any:
        return {"sum": tf.reduce_sum(r, axis=1)}


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_spec_comes_back(spec: Any) -> None:
    message = encode_structure([spec])
    assert message.list_value.values[0].type_spec_value.type_spec_class_name
    assert decode_structure(message, "here") == [spec]


def test_a_spec_with_a_state_that_cannot_be_is_refused() -> None:
    message = encode_structure(SPECS[0])
    message.type_spec_value.type_state.tuple_value.values[2].int64_value = 7
    with pytest.raises(InvalidArgumentError, match="here: invalid RaggedTensorSpec"):
        decode_structure(message, "here")


def test_functions_of_composites_come_back(tmp_path: Path) -> None:
    model = Model()
    tf.saved_model.save(
        model, str(tmp_path / "m"), signatures={"sums": model.sums.get_concrete_function()}
    )
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    r = tf.ragged.constant([[1.0, 2.0], [], [4.0]])
    s = tf.sparse.from_dense([[0.0, 1.0, 2.0]])
    found = loaded.both(r, s)
    assert found["r"].to_list() == [[2.0, 4.0], [], [8.0]]
    assert found["s"].numpy().tolist() == [[0.0, 1.0, 2.0]]
    assert found["t"].indices.numpy().tolist() == [[0, 1], [0, 2]]
    signature = loaded.signatures["sums"]
    specs = signature.structured_input_signature[1]
    assert {name: spec.dtype.name for name, spec in specs.items()} == {
        "r": "float32",
        "r_1": "int64",
    }
    parts = signature(r=r.values, r_1=r.row_splits)
    assert parts["sum"].numpy().tolist() == [3.0, 0.0, 4.0]
    with pytest.raises(ValueError, match="no saved trace fits"):
        loaded.sums(tf.ragged.constant([[1], [2, 3]]))


FRESH = """
import sys
import pinnace as tf

loaded = tf.saved_model.load(sys.argv[1])
ragged, sparse = loaded.both.concrete_functions[0].structured_input_signature[0]
print(type(ragged).__name__, type(sparse).__name__)
"""


def test_their_specs_are_known_to_a_program_that_only_loads(tmp_path: Path) -> None:
    tf.saved_model.save(Model(), str(tmp_path / "m"))
    assert run_fresh(FRESH, tmp_path / "m").split() == ["RaggedTensorSpec", "SparseTensorSpec"]
