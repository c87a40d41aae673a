"""Third-party packages for TensorFlow give the same results with pinnace.

`make packages` installs them into a folder, unchanged from the index.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oracle import both

pytestmark = pytest.mark.packages

PROGRAMS = Path(__file__).with_name("programs")
# Probabilities of networks of up to 33 layers, in float32; sums in another order.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
# After the libraries' own dependencies: packages must not replace their NumPy.
RUN = "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_path(sys.argv[2], run_name='x')"
AS_TENSORFLOW = "from pinnace.compat import as_tensorflow; as_tensorflow.install()\n"


def given_by(program: Path, python: str, first: str = "") -> Any:
    """The JSON that a program prints as its last line."""
    folder = os.environ.get("PINNACE_PACKAGES")
    if not folder:
        pytest.fail("PINNACE_PACKAGES is not set. Try: make packages")
    code = f"{first}{RUN.replace('sys.argv[2]', 'sys.argv.pop(2)')}"
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code, folder, str(program)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_a_package_gives_what_it_gives_with_tensorflow(name: str, tensorflow_python: str) -> None:
    program = PROGRAMS / f"{name}.py"
    theirs = given_by(program, tensorflow_python)
    both.same(given_by(program, sys.executable, AS_TENSORFLOW), theirs, name, **CLOSE)
