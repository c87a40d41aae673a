"""Every program of examples/ runs to its end, in a separate process."""

import importlib.util
import sys

import pytest

from architecture.sources import ROOT

# Programs that take seconds even with little work; `make deep` and `make examples` run them.
SLOW = {
    "digits_demo",
    "own_head",
    "reinforcement_learning",
    "revnet_eagerly",
    "revnet_channels_first",
    "revnet_tpu",
    "transfer_learning",
}


def _all_examples():
    spec = importlib.util.spec_from_file_location(
        "all_examples", ROOT / "examples" / "all_examples.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


PROGRAMS = _all_examples()
MARKED = [
    pytest.param(e, id=e.name, marks=[pytest.mark.slow] if e.name in SLOW else [])
    for e in PROGRAMS.EXAMPLES
]


@pytest.mark.parametrize("example", MARKED)
def test_example_runs(example) -> None:
    if not example.can_run:
        pytest.skip(f"{example.needs} is not installed")
    right, output = PROGRAMS.run(example, short=True)
    assert right, f"{example.expected!r} is not in\n{output}"


def test_every_program_is_listed() -> None:
    folder = ROOT / "examples"
    programs = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if '__name__ == "__main__"' in path.read_text()
    }
    assert programs == {e.command[0] for e in PROGRAMS.EXAMPLES} | {"all_examples.py"}
