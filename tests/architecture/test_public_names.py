"""A change of the public API is a visible line of a diff."""

import subprocess
import sys

from architecture.sources import ROOT

TOOL = ROOT / "tools" / "public_names.py"
ASKERS = ROOT / "tools" / "who_asks.py"


def test_public_names_are_those_listed() -> None:
    # In a separate process, so that imports of other tests do not become public.
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"the public names are not those of docs/public_names.txt\n{done.stdout}{done.stderr}\n"
        "If the change is meant: python tools/public_names.py --write, and a file in changes/"
    )


def test_somebody_asks_for_each_name_op_and_flag() -> None:
    done = subprocess.run([sys.executable, ASKERS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"tests/architecture/who_asks.txt does not say who asks\n{done.stdout}{done.stderr}"
    )


def test_a_name_that_nobody_asked_for_is_found() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ASKERS.parent)!r}); from who_asks import *\n"
        "table = [Row('tf.nn.*', 1, 'a report'), Row('tf.mad', 1, '')]\n"
        "print(*findings(table, ['tf.nn.relu', 'tf.nn.silu', 'tf.mad', '--new']), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "--new: no line says who asks for it",
        "tf.nn.*: the line says 1 names, there are 2",
        "tf.mad: nobody asks",
    ]
