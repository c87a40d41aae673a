"""Models read from Keras 2 files and saved again open in Keras 3, with the same outputs."""

import json
from pathlib import Path

import pinnace as tf
from support.golden import golden
from support.loaded_process import run_either

PROGRAM = """
import runpy, sys
program, sys.argv = sys.argv[1], sys.argv[1:]
runpy.run_path(program, run_name="__main__")
"""
FOLDER = golden("keras_files/keras_2")
# What Keras 3 cannot express: other rules of masks, a mask of sums, kernels that differ by
# position.
KERAS_3_CANNOT = ("masked_merges", "masked_gru", "locally_connected")


def test_keras_3_opens_what_was_saved_again(tmp_path: Path, tensorflow_python: str) -> None:
    written = []
    for file in sorted(FOLDER.iterdir()):
        if file.suffix not in {".keras", ".h5"} or file.stem in KERAS_3_CANNOT:
            continue
        model = tf.keras.models.load_model(file, compile=False)
        # Keras 3 itself orders the weights of nested, partly frozen models differently.
        for ending in (".keras",) if file.stem.startswith("nested") else (".keras", ".h5"):
            name = f"{file.stem}.from_{file.suffix[1:]}{ending}"
            model.save(tmp_path / name)
            written.append(name)
    program = Path(__file__).with_name("keras_2_again.py")
    text = run_either(PROGRAM, program, tmp_path, python=tensorflow_python, timeout_s=900)
    found = dict(json.loads(line[7:]) for line in text.splitlines() if line.startswith("REPORT "))
    assert found.keys() == set(written)
    assert len(written) > 50
    assert {name: far for name, far in found.items() if far > 1e-5} == {}
