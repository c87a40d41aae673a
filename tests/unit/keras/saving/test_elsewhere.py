"""Models that Keras 3 cannot open, or runs differently, cause a warning on saving; see ADR 46.

tests/interop/test_keras_2_again.py opens all other files of this folder in Keras 3.
"""

from pathlib import Path

import pytest

import pinnace as tf
from pinnace.keras.saving import elsewhere
from support.golden import golden

FOLDER = golden("keras_files/keras_2")
TOLD = {
    "masked_gru": ["pinnace>MaskOf"],
    "locally_connected": ["LocallyConnected1D", "LocallyConnected2D"],
    "masked_merges": ["rules of masks", "Add 'add", "Multiply 'multiply"],
    "functions": ["pinnace>TFOpLambda"],
    "../keras_2_nodes/dense": ["pinnace>TensorFlowOpLayer"],
    "dense": [],
    "masked_coder": [],
    "pictures": [],
    "nested_5": [],
    "sentences": [],
}


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("name", TOLD)
def test_what_keras_3_does_not_open_is_said_once(
    name: str,
    ending: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(elsewhere, "_said", set())
    model = tf.keras.models.load_model(FOLDER / f"{name}.h5", compile=False)
    for number in range(2):
        model.save(tmp_path / f"again{number}{ending}")
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == (1 if TOLD[name] else 0), texts
    for part in TOLD[name]:
        assert part in texts[0]
