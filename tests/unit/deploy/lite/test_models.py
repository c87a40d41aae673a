"""Models that TensorFlow wrote: the file gives TensorFlow's results."""

from pathlib import Path

import numpy as np
import pytest

from pinnace.deploy.lite import export
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework.errors import UnimplementedError
from pinnace.saved_model import load

pytest.importorskip("ai_edge_litert")

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "saved_models"
KERAS = ("keras_cnn", "keras_gru", "keras_lstm", "keras_mlp", "keras_separable", "multi_io")
WHOLE = (*KERAS, "keras_transformer", "nested", "poly_module", "v1_loops", "v1_recurrent", "halves")
# Models with strings, for which LiteRT has no operators.
STRINGS = ("lookup_assets", "vectorized", "words", "v1_mapped")


@pytest.mark.parametrize("name", WHOLE)
def test_every_signature_is_written_and_agrees(name: str) -> None:
    folder = GOLDEN / name / "model"
    for key in load(folder).signatures:
        report = export(folder, signature=key)
        assert report.content is not None
        assert report.batches >= 2
        assert report.operator_count > 0


@pytest.mark.parametrize("name", KERAS)
def test_the_file_gives_what_tensorflow_gave(name: str) -> None:
    report = export(GOLDEN / name / "model", verify=False)
    assert report.content is not None
    with np.load(GOLDEN / name / "io.npz") as file:
        given = dict(file)
    sets = sorted({key.split("/")[0] for key in given})
    for way in WAYS:
        interpreter = Interpreter(report.content, way)
        for one in sets:
            head = f"{one}/serving_default"
            found = interpreter.run({key: given[f"{head}/in/{key}"] for key in report.inputs})
            for key in report.outputs:
                right = given[f"{head}/out/{key}"]
                np.testing.assert_allclose(found[key], right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", STRINGS)
def test_what_has_no_operator_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnimplementedError, match="cannot be written in LiteRT"):
        export(GOLDEN / name / "model")


def test_several_signatures_stand_in_one_file() -> None:
    report = export(GOLDEN / "several_signatures" / "model", signature=["a", "b"])
    assert report.content is not None
    assert set(Interpreter(report.content).signatures()) == {"a", "b"}


def test_nothing_is_written_where_something_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnimplementedError):
        export(GOLDEN / "words" / "model", tmp_path / "m.tflite")
    assert not list(tmp_path.iterdir())
