"""Beam's RunInference with a model, on this machine."""

from pathlib import Path

import numpy as np
import pytest

from support.scoring import rows_of

pytestmark = pytest.mark.engines
beam = pytest.importorskip("apache_beam")
X = rows_of(500)


@pytest.mark.parametrize("named", [False, True])
def test_every_example_gets_its_outputs(named: bool, rowwise: Path, tmp_path: Path) -> None:
    from apache_beam.ml.inference.base import RunInference

    from pinnace.integrations.beam import PinnaceModelHandler

    examples = [{"x": x} for x in X] if named else list(X)
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(examples)
            | RunInference(PinnaceModelHandler(str(rowwise), batch_size=64))
            | beam.Map(_told)
            | beam.io.WriteToText(str(tmp_path / "out"))
        )
    lines = [line for path in tmp_path.glob("out*") for line in path.read_text().splitlines()]
    found = np.array([[float(one) for one in line.split()] for line in lines])
    wanted = np.column_stack([X, X * 2, X.sum(1)])
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)])


def _told(result: object) -> str:
    example, outputs = result.example, result.inference  # type: ignore[attr-defined]
    x = example["x"] if isinstance(example, dict) else example
    return " ".join(map(str, [*x, *outputs["doubled"], outputs["total"]]))


def test_other_names_are_refused(rowwise: Path) -> None:
    from pinnace.integrations.beam import PinnaceModelHandler

    handler = PinnaceModelHandler(str(rowwise))
    with pytest.raises(ValueError, match="an example must have x; got y"):
        handler.run_inference([{"y": X[0]}], handler.load_model())
