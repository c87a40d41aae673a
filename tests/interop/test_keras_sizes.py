"""Output sizes of layers: computed, symbolic and actual, as in Keras."""

import json
from pathlib import Path

from hypothesis import Phase, given, seed, settings

from support.layer_drawing import LAYERS
from support.layer_sizes import Case
from support.loaded_process import run_either

PROGRAM = """
import runpy, sys
program, sys.argv = sys.argv[1], sys.argv[1:]
runpy.run_path(program, run_name="__main__")
"""
SIZES = Path(__file__).parents[1] / "support" / "layer_sizes.py"
# For some sizes of these, TensorFlow's process dies (division by zero) in Keras 3.15.
UNASKED = {f"Adaptive{kind}Pooling{rank}D" for kind in ("Max", "Average") for rank in (1, 2, 3)}
# Keras 3 does not have these any more.
UNASKED |= {"RandomHeight", "RandomWidth", "ThresholdedReLU"}
# Its windows need SciPy there, which TensorFlow's environment does not have.
UNASKED.add("STFTSpectrogram")
# Keras computes one step more than it returns.
UNASKED.add("MelSpectrogram")


def drawn() -> list[Case]:
    """Four configurations of each layer."""
    found: list[Case] = []
    for name in sorted(LAYERS.keys() - UNASKED):

        @seed(7)
        @settings(max_examples=4, database=None, phases=[Phase.generate], deadline=None)
        @given(case=LAYERS[name])
        def note(case: Case) -> None:
            found.append(case)

        note()
    return found


def test_every_layer_has_the_sizes_of_keras(tmp_path: Path, tensorflow_python: str) -> None:
    cases = drawn()
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    files = {which: tmp_path / f"{which}.json" for which in ("pinnace", "keras")}
    run_either(PROGRAM, SIZES, "pinnace", tmp_path / "cases.json", files["pinnace"])
    run_either(
        PROGRAM, SIZES, "keras", tmp_path / "cases.json", files["keras"], python=tensorflow_python
    )
    ours, theirs = (json.loads(files[which].read_text()) for which in ("pinnace", "keras"))
    assert len(ours) == len(theirs) == len(cases)
    assert {case["layer"] for case in cases} == LAYERS.keys() - UNASKED
    for case, mine, wanted in zip(cases, ours, theirs, strict=True):
        assert mine == wanted, case
