"""`keras.ops`: the values, shapes and dtypes of Keras."""

from pathlib import Path

import numpy as np
import pytest

from pinnace.keras import ops
from support import keras_operations_more as more
from support.keras_operations import CASES, OTHERS
from support.loaded_process import run_either

PROGRAM = """
import runpy, sys
program, sys.argv = sys.argv[1], sys.argv[1:]
runpy.run_path(program, run_name="__main__")
"""
FOLDER = Path(__file__).parents[1] / "support"


@pytest.mark.parametrize("operations", ["keras_operations.py", "keras_operations_more.py"])
def test_every_operation_gives_what_keras_gives(
    tmp_path: Path, tensorflow_python: str, operations: str
) -> None:
    file = FOLDER / operations
    run_either(PROGRAM, file, "pinnace", tmp_path / "ours.npz")
    run_either(PROGRAM, file, "tensorflow", tmp_path / "theirs.npz", python=tensorflow_python)
    ours, theirs = (dict(np.load(tmp_path / f"{which}.npz")) for which in ("ours", "theirs"))
    assert ours.keys() == theirs.keys()
    for name, wanted in theirs.items():
        assert (ours[name].dtype, ours[name].shape) == (wanted.dtype, wanted.shape), name
        half = wanted.dtype == np.float16
        close = {"rtol": 2e-3, "atol": 2e-3} if half else {"rtol": 1e-5, "atol": 2e-6}
        np.testing.assert_allclose(ours[name], wanted, **close, err_msg=name)


def test_no_operation_is_left_out() -> None:
    names = {name for name in dir(ops) if callable(getattr(ops, name)) and name[0] != "_"}
    assert names == {*CASES, *OTHERS, *more.CASES, *more.PROPERTIES, *more.OTHERS}
