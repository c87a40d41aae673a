"""`tf.compat.v1` against TensorFlow's, called with the arguments of version 1, in eager mode."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from oracle.calling_version_1 import answer
from pinnace.compat.v1.earlier import _all

WORKER = Path(__file__).with_name("calling_version_1.py")
CALLS = [
    line
    for line in (Path(__file__).with_name("version_1_calls.txt")).read_text().splitlines()
    if line and not line.startswith("#")
]
# Two kernels may sum in different orders.
RTOL = 2e-6
# Parameters that TensorFlow does not have, and why.
OTHER_PARAMETERS = {
    "gather_nd": "bad_indices_policy is not here",
}


def earlier() -> list[str]:
    return [
        f"{space}.{name}".removeprefix("tf.")
        for space, functions in _all().items()
        for name in functions
    ]


OWN = [
    *("to_float", "to_int32", "constant", "where", "div", "cond", "while_loop", "assign_add"),
    *("placeholder_with_default", "enable_eager_execution", "disable_eager_execution"),
    *("nn.dropout", "nn.softmax_cross_entropy_with_logits", "nn.embedding_lookup", "nn.xw_plus_b"),
    *("image.resize_bilinear", "image.resize_images", "image.resize_area", "logging.log_every_n"),
    *("losses.absolute_difference", "losses.cosine_distance", "losses.huber_loss"),
    *("losses.log_loss", "losses.mean_pairwise_squared_error", "losses.sigmoid_cross_entropy"),
    *("losses.softmax_cross_entropy", "losses.sparse_softmax_cross_entropy", "app.run"),
    *("train.exponential_decay", "train.polynomial_decay", "train.piecewise_constant"),
    *("train.inverse_time_decay", "train.natural_exp_decay", "train.cosine_decay"),
    *("initializers.variance_scaling", "constant_initializer", "random_uniform_initializer"),
    *("glorot_uniform_initializer", "truncated_normal_initializer", "zeros_initializer"),
]


@pytest.fixture(scope="module")
def both(tensorflow_python: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our results, and TensorFlow's."""
    asked = {"calls": CALLS, "names": [*earlier(), *OWN]}
    done = subprocess.run(
        [tensorflow_python, str(WORKER)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    tf.keras.utils.clear_session()
    return json.loads(json.dumps(answer(asked, tf, np))), json.loads(done.stdout)


@pytest.mark.oracle
@pytest.mark.parametrize("call", CALLS)
def test_calls_give_what_tensorflow_gives(call: str, both: tuple[Any, Any]) -> None:
    ours, theirs = (one["values"][call] for one in both)
    if isinstance(theirs, dict) and "raised" in theirs:
        assert "raised" in ours, (ours, theirs)
        return
    same(ours, theirs)


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), (ours, theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, dict) and "dtype" in theirs:
        assert isinstance(ours, dict), (ours, theirs)
        assert (ours.get("dtype"), ours.get("shape")) == (theirs["dtype"], theirs["shape"]), ours
        if theirs["dtype"] in ("string", "bool"):
            assert ours["values"] == theirs["values"]
        else:
            np.testing.assert_allclose(ours["values"], theirs["values"], RTOL, 1e-6)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), (ours, theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, RTOL)
    else:
        assert ours == theirs


@pytest.mark.oracle
def test_parameters_are_those_of_tensorflow(both: tuple[Any, Any]) -> None:
    ours, theirs = (one["parameters"] for one in both)
    wrong = {
        name: (ours[name], theirs[name])
        for name in theirs
        if [p[0] for p in ours[name]] != [p[0] for p in theirs[name]]
        and name not in OTHER_PARAMETERS
    }
    assert wrong == {}


def test_every_function_with_other_arguments_is_called() -> None:
    text = "\n".join(CALLS)
    left = [name for name in earlier() if f"v1.{name}(" not in text]
    assert left == []
