"""A model that is overwritten in place while it scores: all results are of one model, or none."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.score import ScoreSettings, plan_run, run_plan
from pinnace.deploy.score.scorer import Scorer
from pinnace.framework.errors import FailedPreconditionError
from support.command_line import pinnace
from support.scoring import read_results, rows_of, write_parquet

FILES = 4
ROWS = 3000


def save(folder: Path, factor: float) -> Path:
    class Times(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(np.full(4, factor, np.float32))

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x * self.w}

    model = Times()
    tf.saved_model.save(model, folder, signatures=model.__call__)
    return folder


def settings_of(folder: Path, model: Path) -> ScoreSettings:
    data = folder / "data"
    for number in range(FILES):
        write_parquet(data / f"{number}.parquet", {"x": rows_of(ROWS, number)})
    return ScoreSettings(str(model), (f"{data}/*.parquet",), str(folder / "out"), batch_size=128)


def overwrite(model: Path, other: Path) -> None:
    """Overwrite files in place, like `cp`."""
    for file in other.rglob("*") if other.is_dir() else [other]:
        if file.is_file():
            target = model / file.relative_to(other) if other.is_dir() else model
            shutil.copyfile(file, target)


def test_rows_after_the_change_are_of_the_model_before(tmp_path: Path) -> None:
    model, other = save(tmp_path / "m", 2.0), save(tmp_path / "other", 3.0)
    plan = plan_run(settings_of(tmp_path, model))
    done: list[int] = []

    def report(rows: int) -> None:
        done.append(rows)
        if sum(done) >= ROWS + 500 and len(done) > 1:  # in the middle of the second file
            overwrite(model, other)

    summary = run_plan(plan, report=report)
    assert (summary.done, summary.errors) == (FILES, [])
    for number in range(FILES):
        results = read_results(tmp_path / "out" / f"{number}.parquet")
        np.testing.assert_array_equal([row["y"] for row in results], 2 * rows_of(ROWS, number))


def test_who_begins_late_does_not_score_with_another(tmp_path: Path) -> None:
    """A worker or actor loads the model after it was changed."""
    model, other = save(tmp_path / "m", 2.0), save(tmp_path / "other", 3.0)
    plan = plan_run(settings_of(tmp_path, model))
    overwrite(model, other)
    with pytest.raises(FailedPreconditionError, match="was changed during the run"):
        run_plan(plan)
    with pytest.raises(FailedPreconditionError, match="was changed during the run"):
        run_plan(plan, workers=2)
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["_score.json"]


def test_a_mapped_file_that_changes_ends_the_run(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    files = [tmp_path / f"{name}.onnx" for name in ("one", "two")]
    for factor, file in zip((2.0, 3.0), files, strict=True):
        answer = pinnace("export", save(tmp_path / file.stem, factor), file)
        assert answer.code == 0, answer.err
    settings = settings_of(tmp_path, files[0])
    plan_run(settings)
    scorer = Scorer(settings)
    parts = plan_run(settings).parts
    assert scorer.score(parts[0]).rows == ROWS
    overwrite(files[0], files[1])
    with pytest.raises(FailedPreconditionError, match="was changed during the run"):
        scorer.score(parts[1])
    there = sorted(one.name for one in (tmp_path / "out").iterdir())
    assert there == ["0.parquet", "_score.json"]
