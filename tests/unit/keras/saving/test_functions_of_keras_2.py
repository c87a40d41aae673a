"""Functional models of Keras 2 with TensorFlow's functions between their layers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import OpError
from pinnace.keras.public_functions import UnknownFunctionError, public_function
from pinnace.ops import registry
from support.each import holds_for_each
from support.golden import golden

FOLDER = golden("keras_files/keras_2_functions")
KEPT = dict(np.load(FOLDER / "answers.npz"))
EXPRESSIONS = [key.removesuffix("/config") for key in KEPT if key.endswith("/config")]


def flat(outputs: Any) -> list[Any]:
    parts = [one.numpy() for one in tf.nest.flatten(outputs, expand_composites=True)]
    return [part.astype("S") if part.dtype == object else part for part in parts]


def inputs_of(model: Any) -> Any:
    values = [KEPT[f"input/{name}"] for name in model.input_names]
    xs = [tf.constant(x.astype(object) if x.dtype.kind == "S" else x) for x in values]
    return xs if len(xs) > 1 else xs[0]


def answers_of(expression: str) -> list[Any]:
    count = sum(key.startswith(f"{expression}/") for key in KEPT) - 1
    return [KEPT[f"{expression}/{at}"] for at in range(count)]


def check(model: Any, wanted: list[Any]) -> None:
    found = flat(model(inputs_of(model)))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        if theirs.dtype.kind in "fc":
            assert ours.dtype == theirs.dtype
            # float32 sums in another order, of values up to some hundreds.
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
        else:
            assert theirs.dtype.kind == "S" or ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)


# 700 models, of milliseconds each.
@pytest.mark.parametrize("part", range(4))
def test_they_give_what_keras_2_gives(part: int) -> None:
    holds_for_each(EXPRESSIONS[part::4], gives_what_keras_2_gives)


def gives_what_keras_2_gives(expression: str) -> None:
    model = tf.keras.models.model_from_json(str(KEPT[f"{expression}/config"]))
    check(model, answers_of(expression))


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_so_do_files_also_when_they_are_saved_again(ending: str, tmp_path: Path) -> None:
    expressions = [str(one) for one in KEPT[f"some{ending}/expressions"]]
    wanted = [answer for one in expressions for answer in answers_of(one)]
    model = tf.keras.models.load_model(FOLDER / f"some{ending}")
    check(model, wanted)
    for again in (".keras", ".h5"):
        model.save(tmp_path / f"again{again}")
        check(tf.keras.models.load_model(tmp_path / f"again{again}"), wanted)


def test_the_corpus_has_most_functions_that_models_can_hold() -> None:
    named = {
        config["function"]
        for expression in EXPRESSIONS
        for layer in json.loads(str(KEPT[f"{expression}/config"]))["config"]["layers"]
        if "function" in (config := layer["config"])
    }
    assert len(named) > 350
    assert {
        "compat.v1.shape",
        "compat.v1.norm",
        "math.top_k",
        "sort",
        "compat.v1.gather_nd",
    } <= named


def with_function(function: str) -> str:
    """The configuration of a model that calls a function."""
    config = json.loads(str(KEPT["tf.exp(x)/config"]))
    (layer,) = [one for one in config["config"]["layers"] if one["class_name"] == "TFOpLambda"]
    layer["config"]["function"] = function
    return json.dumps(config)


@pytest.mark.parametrize(
    "function",
    [
        *("io.read_file", "io.write_file", "io.matching_files", "io.gfile.remove", "print"),
        *("py_function", "numpy_function", "compat.v1.py_func", "compat.v1.Print", "function"),
        *("keras.backend.clear_session", "keras.backend.set_floatx", "saved_model.load"),
        *("random.fixed_unigram_candidate_sampler", "io.decode_proto", "random.set_seed"),
        *("Module", "Variable", "keras.layers.Dense", "keras.models.load_model", "map_fn"),
        *("__operators__.iadd", "__operators__.setitem", "__class__", "exp.__globals__.keys"),
        *(
            "__operators__.attrgetter",
            "no_such_function",
            "math",
            "",
            "compat.v1.",
            "..",
            "os.system",
            "load_op_library",
        ),
        *("keras.backend.np.save", "keras.utils.get_file", "summary.scalar", "data.Dataset.range"),
    ],
)
def test_nothing_but_functions_of_tensors_is_called_because_a_file_says_so(function: str) -> None:
    with pytest.raises(UnknownFunctionError, match="the model calls tf"):
        public_function(function)
    with pytest.raises((ValueError, TypeError, OpError), match="the model calls tf"):
        tf.keras.models.model_from_json(with_function(function))


def test_no_function_that_is_found_is_defined_where_an_op_reaches_outside() -> None:
    names = [f"{space}{name}" for space in SPACES for name in dir(namespace(space))]
    found = {name: function for name in names if (function := resolved(name))}
    assert len(found) > 600
    reaching = {op.kernel.__module__ for op in registry.registered().values() if op.reaches}
    assert len(reaching) > 5
    places = {name: function.__module__ for name, function in found.items()}
    assert {name: place for name, place in places.items() if place in reaching} == {}


SPACES = (
    *("", "math.", "nn.", "linalg.", "image.", "io.", "strings.", "random.", "sparse.", "audio."),
    *("debugging.", "quantization.", "compat.v1.", "compat.v1.io.", "compat.v1.nn.", "ragged."),
    *("keras.backend.", "data.", "summary.", "experimental.", "autograph.", "config."),
)


def namespace(space: str) -> Any:
    found: Any = tf
    for part in space.split(".")[:-1]:
        found = getattr(found, part)
    return found


def resolved(name: str) -> Any:
    try:
        return public_function(name)
    except UnknownFunctionError:
        return None


@pytest.mark.parametrize("function", ["einsum", "meshgrid"])
def test_functions_whose_tensors_are_not_in_the_file_are_told(function: str) -> None:
    with pytest.raises(ValueError, match=f"tf.{function}: Keras 2 does not write the tensors"):
        tf.keras.models.model_from_json(with_function(function))


def test_default_dtypes_that_keras_2_writes_and_cannot_read_are_read() -> None:
    # The file has "int32" for tf.size, where version 1 of the function expects a DType.
    config = json.loads(with_function("compat.v1.size"))
    layer = config["config"]["layers"][-1]
    layer["inbound_nodes"][0][3]["out_type"] = "int64"
    found = tf.keras.models.model_from_json(json.dumps(config))(tf.ones([3, 4]))
    assert (found.dtype, int(found)) == (tf.int64, 12)


def test_a_layer_that_is_called_twice_is_one() -> None:
    config = json.loads(str(KEPT["tf.exp(x)/config"]))
    inner = config["config"]
    inner["layers"][-1]["inbound_nodes"].append([inner["layers"][-1]["name"], 0, 0, {}])
    inner["output_layers"] = [[inner["layers"][-1]["name"], 1, 0]]
    model = tf.keras.models.model_from_json(json.dumps(config))
    x = tf.constant([[0.0, 1.0, -1.0, 0.5]])
    np.testing.assert_allclose(model(x), np.exp(np.exp(x)), rtol=1e-6)
