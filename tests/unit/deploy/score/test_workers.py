"""Several processes give the results of one, also if one of them is killed."""

import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from pinnace.deploy.score import ScoreSettings, plan_run
from pinnace.deploy.score.workers import score_in_processes
from pinnace.framework.errors import InvalidArgumentError
from support.scoring import read_results, rows_of, visible_files, write_parquet

FILES, ROWS = 5, 3000


@pytest.mark.slow
def test_a_process_that_is_killed_is_replaced(rowwise: Path, tmp_path: Path) -> None:
    for number in range(FILES):
        ids = np.arange(ROWS) + number * ROWS
        write_parquet(tmp_path / "data" / f"{number}.parquet", {"id": ids, "x": rows_of(ROWS)})
    settings = ScoreSettings(
        str(rowwise), (str(tmp_path / "data"),), str(tmp_path / "out"), keep=("id",), batch_size=4
    )
    killed: list[int] = []

    def kill_one(_: int) -> None:
        """Wait while parts are being scored."""
        alive = multiprocessing.active_children()
        if not killed and alive:
            killed.append(int(alive[0].pid or 0))
            os.kill(killed[0], signal.SIGKILL)

    plan = plan_run(settings)
    results = list(score_in_processes(settings, plan.parts, 2, kill_one))
    assert killed
    assert sorted(one.target for one in results) == [f"{n}.parquet" for n in range(FILES)]
    assert {(one.rows, one.error) for one in results} == {(ROWS, None)}
    assert plan_run(settings).summary.skipped == FILES  # and leftover files are removed
    assert not [name for name in visible_files(tmp_path / "out") if name.endswith(".tmp")]
    found = [
        row["id"]
        for number in range(FILES)
        for row in read_results(tmp_path / "out" / f"{number}.parquet")
    ]
    assert found == list(range(FILES * ROWS))
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_an_error_of_a_process_is_that_of_the_run(rowwise: Path, tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", {"x": rows_of(3)})
    settings = ScoreSettings(str(rowwise), (str(tmp_path / "a.parquet"),), str(tmp_path / "out"))
    plan = plan_run(settings)
    wrong = ScoreSettings(str(rowwise), settings.inputs, settings.output, outputs=("none",))
    with pytest.raises(InvalidArgumentError, match="has no output 'none'; it has: doubled, total"):
        list(score_in_processes(wrong, plan.parts, 2))
    assert not multiprocessing.active_children()
