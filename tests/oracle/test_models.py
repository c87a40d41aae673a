"""Models and checkpoints that one side writes and the other reads: values are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from oracle import comparing
from oracle.drawing import ASKED, drawn
from oracle.test_programs import UNITS, pairs
from pinnace.proto.saved_model_pb2 import SavedModel

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.coverage import Coverage
    from oracle.peer import Peer

# Each example saves a model: TensorFlow takes half a second for that.
EXAMPLES = min(ASKED or 10, 10)


@st.composite
def words(draw: st.DrawFn) -> list[Any]:
    asked = draw(st.lists(st.sampled_from([b"w0", b"w3", b"w4", b"none"]), min_size=1))
    return [np.array(asked, object)]


MODELS = {
    "loops": pairs(),
    "arrays": pairs(),
    "stacked": pairs(),
    "vocabulary": words(),
    "gradient_of_branches": pairs(),
    "batched": pairs(),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_gives_what_it_gives_in_tensorflow(
    name: str, tmp_path_factory: pytest.TempPathFactory, peer: Peer, coverage: Coverage
) -> None:
    @drawn(EXAMPLES)
    @given(inputs=MODELS[name])
    def compare(inputs: list[Any]) -> None:
        folder = tmp_path_factory.mktemp(name) / "model"
        theirs = ask(peer, ["models", name], [str(folder), *inputs])
        signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
        found = signature(**{f"x{i}": tf.constant(x) for i, x in enumerate(inputs)})
        differ(theirs, [found[f"y{i}"].numpy() for i in range(len(found))])
        coverage.values.update(ops_of(folder))

    compare()


@drawn(EXAMPLES)
@given(inputs=pairs())
def test_a_checkpoint_of_raw_ops_is_read(
    inputs: list[Any], tmp_path_factory: pytest.TempPathFactory, peer: Peer, coverage: Coverage
) -> None:
    """TensorFlow's ShardedFilename, SaveV2 and MergeV2Checkpoints write; our reader reads."""
    prefix = tmp_path_factory.mktemp("written") / "saved"
    names = ask(peer, ["checkpoints", "written"], [str(prefix), *inputs])
    assert names[0].tolist() == [f"{prefix}-0000{i}-of-00002".encode() for i in range(2)]
    reader = tf.train.load_checkpoint(str(prefix))
    assert sorted(reader.get_variable_to_shape_map()) == ["a", "b"]
    differ(inputs, [reader.get_tensor(name) for name in "ab"])
    coverage.values.update(["ShardedFilename", "SaveV2", "MergeV2Checkpoints"])


@drawn(EXAMPLES)
@given(inputs=pairs())
def test_a_checkpoint_is_read_by_raw_ops(
    inputs: list[Any], tmp_path_factory: pytest.TempPathFactory, peer: Peer, coverage: Coverage
) -> None:
    """Our writer writes, TensorFlow's RestoreV2 reads: whole tensors, and the first rows of one."""
    prefix = tmp_path_factory.mktemp("read") / "saved"
    x, y = inputs
    path = tf.train.Checkpoint(x=tf.Variable(x), y=tf.Variable(y)).write(str(prefix))
    found = ask(peer, ["checkpoints", "read"], [path, *inputs])
    differ([x, y, y[:1]], found)
    coverage.values.update(["RestoreV2"])


def ask(peer: Peer, program: list[str], inputs: list[Any]) -> list[Any]:
    """The result of a program that only TensorFlow runs; texts become tensors."""
    given = [np.array(one.encode(), object) if isinstance(one, str) else one for one in inputs]
    peer.send([{"program": program, "inputs": given}])
    (theirs,) = peer.receive()
    assert not comparing.failed(theirs), theirs
    return list(theirs["values"])


def differ(theirs: list[Any], here: list[Any]) -> None:
    """Fail if some array differs."""
    assert len(theirs) == len(here)
    for index, (a, b) in enumerate(zip(theirs, here, strict=True)):
        problem = comparing.array_differs(a, np.asarray(b), UNITS, UNITS)
        assert not problem, f"output {index}: {problem}"


def ops_of(folder: Path) -> set[str]:
    """The ops of a saved graph and of its functions."""
    graph = SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    # Nodes that save and restore its variables do not run when it is called.
    own = {node.op for node in nodes if not node.name.startswith("save/")}
    return own - {"MergeV2Checkpoints", "RestoreV2", "SaveV2", "ShardedFilename"}
