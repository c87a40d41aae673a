"""`pinnace diff`."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace import saved_model
from pinnace.deploy.cli.differences import array_difference, is_beyond
from pinnace.framework.module import Module
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from support.command_line import pinnace
from support.golden import FOLDER

SAVED_MODELS = FOLDER / "saved_models"
MODELS = sorted(one.name for one in SAVED_MODELS.iterdir() if one.is_dir())


def scaling(folder: Path, factor: list[float], name: str = "serving_default") -> Path:
    module = Module()
    module.factor = Variable(factor, name="factor")

    @function(input_signature=[TensorSpec([None, len(factor)], "float32", "x")])
    def scale(x: Tensor) -> dict[str, Tensor]:
        return {"y": x * module.factor}

    module.scale = scale
    saved_model.save(module, folder, {name: scale})
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_model_equals_its_copy(name: str, tmp_path: Path) -> None:
    model = SAVED_MODELS / name / "model"
    shutil.copytree(model, tmp_path / "copy")
    answer = pinnace("diff", model, tmp_path / "copy")
    assert answer.code == 0, answer.out
    assert "equal" in answer.out


def test_one_changed_weight_is_found(tmp_path: Path) -> None:
    a = scaling(tmp_path / "a", [1.0, 2.0, 4.0])
    b = scaling(tmp_path / "b", [1.0, 2.0, 4.5])
    answer = pinnace("diff", a, b, "--json")
    assert answer.code == 1
    told = json.loads(answer.out)
    assert told["equal"] is False
    assert told["ops"] == {}
    assert told["signatures"] == []
    (one,) = told["variables"]
    assert (one["name"], one["largest"], one["relative"], one["unequal"], one["size"]) == (
        "factor",
        0.5,
        0.125,
        1,
        3,
    )
    assert pinnace("diff", a, b, "--tolerance", "0.2").code == 0


def test_outputs_are_compared_when_there_are_inputs(tmp_path: Path) -> None:
    a = scaling(tmp_path / "a", [1.0, 2.0])
    b = scaling(tmp_path / "b", [1.0, 2.5])
    told = json.loads(pinnace("diff", a, b, "--inputs", "x=[[1, 10]]", "--json").out)
    (one,) = told["outputs"]
    assert (one["name"], one["largest"], one["unequal"]) == ("y", 5.0, 1)
    assert pinnace("diff", a, a, "--random").code == 0


def test_signatures_are_compared(tmp_path: Path) -> None:
    a = scaling(tmp_path / "a", [1.0, 2.0])
    b = scaling(tmp_path / "b", [1.0, 2.0], "other")
    c = scaling(tmp_path / "c", [1.0, 2.0, 3.0])
    answer = pinnace("diff", a, b)
    assert answer.code == 1
    assert "serving_default: only in A" in answer.out
    assert "other: only in B" in answer.out
    shapes = pinnace("diff", a, c)
    assert "input 'x' is float32[?, 2] in A, float32[?, 3] in B" in shapes.out
    assert "float32[2] in A, float32[3] in B" in shapes.out


def test_ops_and_assets_are_compared(tmp_path: Path) -> None:
    model = SAVED_MODELS / "lookup_assets" / "model"
    shutil.copytree(model, tmp_path / "copy")
    (asset,) = (tmp_path / "copy" / "assets").iterdir()
    asset.write_bytes(asset.read_bytes()[:-1] + b"!")
    answer = pinnace("diff", model, tmp_path / "copy")
    assert answer.code == 1
    assert f"{asset.name}: the files differ" in answer.out
    told = json.loads(pinnace("diff", model, SAVED_MODELS / "keras_mlp" / "model", "--json").out)
    assert told["ops"]["MatMul"] == [0, 3]


def test_a_damaged_model_is_an_error_and_no_difference(tmp_path: Path) -> None:
    model = scaling(tmp_path / "a", [1.0])
    shutil.copytree(model, tmp_path / "b")
    (tmp_path / "b" / "saved_model.pb").write_bytes(b"\xff\xff")
    assert pinnace("diff", model, tmp_path / "b").code == 2


_ARRAYS = st.sampled_from([np.float32, np.float64, np.int64, np.bool_, np.complex64]).flatmap(
    lambda dtype: hnp.arrays(dtype, st.integers(0, 20))
)


@given(_ARRAYS)
def test_an_array_does_not_differ_from_itself(x: np.ndarray) -> None:  # type: ignore[type-arg]
    found = array_difference("x", x, x.copy())
    assert not is_beyond(found, 0.0)
    assert found.unequal == 0


@given(
    hnp.arrays(np.float64, 12, elements=st.floats(-1e9, 1e9)),
    hnp.arrays(np.float64, 12, elements=st.floats(-1e9, 1e9)),
)
def test_the_largest_difference_is_the_maximum(x: np.ndarray, y: np.ndarray) -> None:  # type: ignore[type-arg]
    found = array_difference("x", x, y)
    assert found.largest == np.abs(x - y).max()
    assert found.unequal == np.count_nonzero(x != y)


def test_numbers_that_are_none_differ_from_numbers() -> None:
    x = np.array([1.0, math.nan, math.nan])
    found = array_difference("x", x, np.array([1.0, math.nan, 2.0]))
    assert found.unequal == 1
    assert found.largest == math.inf
    assert is_beyond(found, 0.5)


def test_integers_beyond_floats_differ() -> None:
    found = array_difference("x", np.array([2**53]), np.array([2**53 + 1]))
    assert found.unequal == 1
    assert is_beyond(found, 0.0)
