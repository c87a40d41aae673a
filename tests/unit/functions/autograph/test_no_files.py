"""Conversion writes no files, so none can be left behind, whatever happens to the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fresh_process import run_fresh

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import os, sys
import pinnace as tf

def absolute(x):
    if x > 0:
        return x
    return -x

@tf.function
def f(x):
    return absolute(x) + (1.0 if x > 2.0 else 0.0)

@tf.function
def fails(x):
    if x > 0:
        raise ValueError("on the way")
    return x
"""
# `-c` has no source, so the program is in a file.
ENDINGS = {
    "after an exception": (
        "print(float(f(tf.constant(-3.0))))\n"
        "try:\n    fails(tf.constant(1.0))\nexcept ValueError:\n    pass"
    ),
    "at once": "print(float(f(tf.constant(-3.0))), flush=True); os._exit(0)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_converted_leaves_nothing_in_the_temporary_folder(
    ending: str, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = tmp_path / "program.py"
    program.write_text(f"{PROGRAM}\n{ENDINGS[ending]}\n")
    # numba and others may keep caches elsewhere; malt would write here.
    said = run_fresh(
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')",
        program,
        environment={"TMPDIR": str(temporary), "PYTHONPATH": None},
    )
    assert said.split() == ["3.0"]
    assert [one.name for one in temporary.rglob("*autograph*")] == []
