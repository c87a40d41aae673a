"""Python in a fresh process, as a user starts it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXCHANGE = """
import sys as _sys
import numpy as _numpy
with _numpy.load(_sys.argv[1], allow_pickle=False) as _file:
    inputs = dict(_file)
outputs = {}
exec(compile(_sys.argv[3], "<fresh process>", "exec"))
_numpy.savez(_sys.argv[2], **outputs)
"""


def run_fresh(
    code: str,
    *arguments: str | Path,
    python: str | Path = sys.executable,
    environment: Mapping[str, str | None] | None = None,
    timeout_s: float = 300.0,
) -> str:
    """The output of `code`, run in an empty folder.

    Args:
        code: a program; `arguments` are in `sys.argv[1:]`.
        arguments: strings and paths; make paths absolute.
        python: the interpreter.
        environment: variables to set, or with None to unset.
        timeout_s: the process is killed after this time.

    Raises:
        AssertionError: the program failed; the message contains its error.
    """
    command = [str(python), "-c", code, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            cwd=folder,
            env=_environment(environment or {}),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    if done.returncode:
        raise AssertionError(
            f"fresh process: exit code {done.returncode}\n{code.strip()}\n\n{done.stderr.strip()}"
        )
    return done.stdout


def exchange_arrays(
    code: str, inputs: Mapping[str, NDArray[Any]], *, python: str | Path = sys.executable
) -> dict[str, NDArray[Any]]:
    """The arrays that `code` puts into its dict `outputs`; it gets the dict `inputs`.

    Args:
        code: a program, such as
            `import pinnace; outputs["y"] = pinnace.constant(inputs["x"]).numpy()`.
        inputs: name -> array; no object arrays, since pickle is not used.
        python: the interpreter.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "inputs.npz"), Path(folder, "outputs.npz")
        arrays: dict[str, Any] = dict(inputs)
        np.savez(given, **arrays)
        run_fresh(EXCHANGE, given, answer, code, python=python)
        with np.load(answer, allow_pickle=False) as file:
            return dict(file)


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}
