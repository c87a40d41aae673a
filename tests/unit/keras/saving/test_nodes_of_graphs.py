"""Functional models with nodes of graphs between their layers, as TensorFlow 1.13 to 2.3 wrote."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import OpError, PermissionDeniedError
from support.golden import golden

FOLDER = golden("keras_files/keras_2_nodes")
KEPT = dict(np.load(FOLDER / "answers.npz"))
NAMES = [key.removesuffix("/config") for key in KEPT if key.endswith("/config")]


@pytest.mark.parametrize("name", NAMES)
def test_they_give_what_keras_2_gives(name: str) -> None:
    model = tf.keras.models.model_from_json(str(KEPT[f"{name}/config"]))
    found = tf.nest.flatten(model(KEPT["x"]))
    wanted = [KEPT[key] for key in KEPT if key.startswith(f"{name}/") and key[-1].isdecimal()]
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.numpy().dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_file_with_weights_opens_and_so_does_what_is_saved_of_it(tmp_path: Path) -> None:
    model = tf.keras.models.load_model(FOLDER / "dense.h5")
    np.testing.assert_allclose(model(KEPT["x"]), KEPT["dense"], rtol=1e-5, atol=1e-6)
    for ending in (".keras", ".h5"):
        model.save(tmp_path / f"again{ending}")
        again = tf.keras.models.load_model(tmp_path / f"again{ending}")
        np.testing.assert_array_equal(again(KEPT["x"]), model(KEPT["x"]))


def with_node(node: dict[str, Any], constants: Any = None) -> str:
    """The configuration of a model with one node."""
    config = json.loads(str(KEPT["sums/config"]))
    layer = config["config"]["layers"][-1]
    layer["config"].update(node_def=node, constants=constants or {})
    return json.dumps(config)


FLOAT = {"type": "DT_FLOAT"}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"name": "n", "op": "NoSuchOp"}, "the op 'NoSuchOp' is not known"),
        ({"name": "n", "op": 3}, "damaged"),
        ("\x08", "damaged"),
        (7, "damaged"),
        ({"name": "n", "op": "Neg", "attr": {"T": {"i": "3"}}}, "attribute 'T'"),
        ({"name": "n", "op": "AddN", "attr": {"T": FLOAT, "N": {"i": "99"}}}, "takes 99 inputs"),
        ({"name": "n", "op": "AddN", "attr": {"T": FLOAT, "N": {"i": "-1"}}}, "inputs"),
        ({"name": "n", "op": "StatelessIf", "attr": {"then_branch": {"func": {"name": "f"}}}}, "f"),
    ],
)
def test_damaged_nodes_are_told(node: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, OpError), match=message):
        tf.keras.models.model_from_json(with_node(node))


def test_a_node_that_reaches_files_does_not_run(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("7")
    given = json.loads(with_node({"name": "n", "op": "ReadFile"}))
    first, last = given["config"]["layers"]
    last["inbound_nodes"] = [[[first["name"], 0, 0, {}]]]
    first["config"].update(dtype="string", batch_input_shape=[])
    model = tf.keras.models.model_from_json(json.dumps(given))
    with pytest.raises(PermissionDeniedError, match="a loaded model may not reach files"):
        model(tf.constant(str(secret)))
