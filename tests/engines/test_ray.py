"""`pinnace score --engine ray`, on a cluster of this machine: nothing is lost, nothing twice."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command_line import pinnace
from support.scoring import bad_rows, read_results, rows_of, visible_files, write_parquet

pytestmark = pytest.mark.engines
ray = pytest.importorskip("ray")
FILES, ROWS = 5, 800


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 - Ray's name; for busy machines
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - as above
    started = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    address = started.address_info["address"]
    yield address
    ray.shutdown()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number in range(FILES):
        ids = np.arange(ROWS) + number * ROWS
        path = tmp_path / "data" / f"{number}.parquet"
        write_parquet(path, {"id": ids, "x": rows_of(ROWS, number)})
    return tmp_path / "data"


def check(folder: Path) -> None:
    """Every row is there once, with its numbers."""
    assert not [name for name in visible_files(folder) if name.endswith(".tmp")]
    for number in range(FILES):
        found = read_results(folder / f"{number}.parquet")
        assert [row["id"] for row in found] == list(range(number * ROWS, (number + 1) * ROWS))
        x = rows_of(ROWS, number)
        np.testing.assert_array_equal([row["doubled"] for row in found], x * 2)


def arguments(model: Path, data: Path, folder: Path, *more: str) -> list[Any]:
    flags = ["score", model, "--input", data, "--output", folder, "--keep", "id"]
    return [*flags, "--engine", "ray", "--workers", "2", "--batch-size", "4", *more]


@pytest.mark.usefixtures("cluster")
def test_actors_score_every_file(rowwise: Path, data: Path, tmp_path: Path) -> None:
    answer = pinnace(*arguments(rowwise, data, tmp_path / "out"))
    assert answer.code == 0, answer.err
    check(tmp_path / "out")


@pytest.mark.usefixtures("cluster")
def test_an_actor_that_is_killed_is_replaced(rowwise: Path, data: Path, tmp_path: Path) -> None:
    from pinnace.deploy.score import ScoreSettings, plan_run
    from pinnace.integrations.ray import actor_pool

    settings = ScoreSettings(
        str(rowwise), (str(data),), str(tmp_path / "out"), keep=("id",), batch_size=4
    )
    plan = plan_run(settings)
    killed: list[int] = []
    results = []
    for result in actor_pool(None, 2)(settings, plan.parts, lambda _: None):
        results.append(result)
        if not killed:
            pids = _processes("_Actor")
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])
    assert killed
    assert sorted(one.target for one in results) == [part.target for part in plan.parts]
    assert not [one.error for one in results if one.error]
    plan_run(settings)  # which sweeps what the killed one left
    check(tmp_path / "out")


def _processes(actor: str) -> list[int]:
    """Ray's processes with an actor of that class, by their titles."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::") and actor in title:
            found.append(int(folder.name))
    return found


def test_a_driver_that_is_killed_leaves_whole_files(
    cluster: str, rowwise: Path, data: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pinnace.deploy.cli.main"]
    command += map(str, arguments(rowwise, data, tmp_path / "out", "--ray-address", cluster))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "out").glob("*.parquet"))) < 2:
        assert process.poll() is None, process.communicate()[0].decode()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    answer = pinnace(*arguments(rowwise, data, tmp_path / "out", "--json"))
    assert answer.code == 0, answer.err
    assert '"skipped": 0' not in answer.out
    check(tmp_path / "out")


@pytest.mark.usefixtures("cluster")
def test_errors_are_those_of_one_process(rowwise: Path, tmp_path: Path) -> None:
    whole = write_parquet(tmp_path / "data" / "a.parquet", {"id": np.arange(5), "x": rows_of(5)})
    (tmp_path / "data" / "half.parquet").write_bytes(whole.read_bytes()[:300])
    write_parquet(tmp_path / "data" / "b.parquet", {"id": [0, 1], "x": [[1, 2, 3, 4], [1]]})
    answer = pinnace(*arguments(rowwise, tmp_path / "data", tmp_path / "out"))
    assert answer.code == 1
    assert "half.parquet is damaged or cut short" in answer.err
    assert bad_rows(tmp_path / "out", "b.parquet")[0][0] == 1
    assert len(read_results(tmp_path / "out" / "a.parquet")) == 5


def test_a_cluster_that_is_not_there_is_one_error(
    rowwise: Path, data: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pinnace.deploy.cli.main"]
    command += map(str, arguments(rowwise, data, tmp_path / "out", "--ray-address", "127.0.0.1:1"))
    environment = {**os.environ, "RAY_raylet_start_wait_time_s": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment
    )
    assert done.returncode == 1
    assert "ray: no cluster at 127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
