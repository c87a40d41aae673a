"""TensorFlow's and Keras's public names exist, or the error says why not."""

import subprocess
import sys

import pytest

import pinnace as tf
from architecture.sources import ROOT
from pinnace.framework import missing_names
from pinnace.framework.missing_in_modules import NAMESPACES
from support.fresh_process import run_fresh

TOOL = ROOT / "tools" / "missing_names.py"
FACTS = ROOT / "tests" / "golden" / "names" / "names.txt"


def test_every_name_is_here_or_has_its_reason() -> None:
    # In a separate process, so that imports of other tests do not become public.
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"names, parameters or defaults are not as listed\n{done.stdout[-3000:]}{done.stderr}\n"
        "If it is meant: python tools/missing_names.py --write"
    )


def test_every_namespace_explains() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(TOOL.parent)!r}); import missing_names\n"
        "print(*(f'{k}={v}' for k, v in missing_names.modules().items()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    found = dict(each.split("=") for each in done.stdout.split())
    assert {name: space for name, space in found.items() if name != "pinnace"} == NAMESPACES


def test_no_pattern_refuses_what_tensorflow_lacks() -> None:
    names, space = set(), ""
    for line in FACTS.read_text().splitlines():
        if line.startswith("["):
            space = line[1:-1].removeprefix("members of ")
            names.add(space)
        elif line:
            names.add(f"{space}.{line.partition('(')[0].partition(' = ')[0]}")
    used = {missing_names.reason_of(name) for name in names}
    idle = [reason.names for reason in missing_names.reasons() if reason not in used]
    assert not idle


def test_parameters_differ_where_a_reason_says_so() -> None:
    told = {name for reason in missing_names.differences() for name in reason.names}
    program = (
        f"import sys; sys.path.insert(0, {str(TOOL.parent)!r}); import missing_names\n"
        "missing_names._explained = set\n"
        "print(*missing_names.compare().differences, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told <= {line.partition(": ")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("namespace", "name", "said"),
    [
        (tf.keras.layers, "JaxLayer", "another runtime\n  Try: tf.keras.layers.Layer"),
        (tf.raw_ops, "XlaConv", "no XLA"),
        (tf.experimental, "StructuredTensor", "is TensorFlow's, and not written yet in pinnace"),
        (tf, "no_such_name", "module 'pinnace' has no attribute 'no_such_name'"),
        (tf.linalg, "no_such_name", "has no attribute 'no_such_name'"),
    ],
)
def test_a_missing_name_says_why(namespace: object, name: str, said: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(namespace, name)
    assert said in str(raised.value)
    assert not hasattr(namespace, name)


def test_asking_whether_a_name_is_there_loads_no_table_of_names() -> None:
    code = """
import sys
import pinnace as tf
from pinnace.functions.autograph import transformer  # Python looks the name up before it imports

assert not hasattr(tf.linalg, "matmull") and not hasattr(tf, "placeholder")
print(sorted({"pinnace.compat", "pinnace.framework.missing_names"} & set(sys.modules)))
"""
    assert run_fresh(code).strip() == "[]"
