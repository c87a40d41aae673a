"""`keras.ops`: the values, shapes and dtypes of Keras."""

from pathlib import Path

import numpy as np

from pinnace.keras import ops
from support.fresh_process import run_fresh
from support.keras_operations import CASES, OTHERS

PROGRAM = """
import runpy, sys
program, sys.argv = sys.argv[1], sys.argv[1:]
runpy.run_path(program, run_name="__main__")
"""
OPERATIONS = Path(__file__).parents[1] / "support" / "keras_operations.py"


def test_every_operation_gives_what_keras_gives(tmp_path: Path, tensorflow_python: str) -> None:
    run_fresh(PROGRAM, OPERATIONS, "pinnace", tmp_path / "ours.npz")
    run_fresh(PROGRAM, OPERATIONS, "tensorflow", tmp_path / "theirs.npz", python=tensorflow_python)
    ours, theirs = (dict(np.load(tmp_path / f"{which}.npz")) for which in ("ours", "theirs"))
    assert ours.keys() == theirs.keys()
    for name, wanted in theirs.items():
        assert (ours[name].dtype, ours[name].shape) == (wanted.dtype, wanted.shape), name
        np.testing.assert_allclose(ours[name], wanted, rtol=1e-5, atol=1e-6, err_msg=name)


def test_no_operation_is_left_out() -> None:
    names = {name for name in dir(ops) if callable(getattr(ops, name)) and name[0] != "_"}
    assert names == {*CASES, *OTHERS}
