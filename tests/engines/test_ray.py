"""`pinnace score --engine ray` on a local cluster: no row is lost or duplicated.

Drivers and actors are killed while files are scored; the final files are compared byte for byte
with those of one process.
"""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import waiting
from support.ray_cluster import BOUND_S, FILES, ROWS, ended, on_ray, start, write_rows
from support.scoring import bad_rows, read_results, visible_files

pytestmark = pytest.mark.engines
pytest.importorskip("ray")


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The files and the summary of one process."""
    folder = tmp_path_factory.mktemp("whole")
    code, out, err = ended(start(data, folder))
    assert code == 3, err
    return folder, out


def at_work(folder: Path) -> list[int]:
    """The actors that are writing a file in a folder."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::"):
                names = [os.readlink(one) for one in (process / "fd").iterdir()]  # noqa: PTH115
                if any(name.startswith(f"{folder}/") and ".tmp" in name for name in names):
                    found.add(int(process.name))
        except OSError:  # it has ended
            continue
    return sorted(found)


def kill_one_at_work(folder: Path, driver: subprocess.Popen[str], known: set[int]) -> bool:
    """Kill an actor while it is writing a file; False if the driver ends before."""
    fresh: list[int] = []

    def is_seen() -> bool:
        fresh[:] = [pid for pid in at_work(folder) if pid not in known]
        return bool(fresh) or driver.poll() is not None

    waiting.until(is_seen, BOUND_S)
    if fresh:
        os.kill(fresh[0], signal.SIGKILL)
        known.add(fresh[0])
    return bool(fresh)


def in_the_making(folder: Path) -> list[str]:
    return [name for name in visible_files(folder) if name.endswith(".tmp")]


def check(data: Path, folder: Path, whole: tuple[Path, Any]) -> None:
    """Check that every row exists once, bit for bit as one process writes it, and nothing else."""
    code, out, err = ended(start(data, folder))  # this removes what the killed ones left
    assert code == 3, err
    assert (out["skipped"], out["done"]) == (FILES, 0)
    assert visible_files(folder) == visible_files(whole[0])
    for name in visible_files(folder):
        assert (folder / name).read_bytes() == (whole[0] / name).read_bytes(), name
    targets = [f"{n}.{'parquet' if n % 2 else 'jsonl'}" for n in range(FILES)]
    ids = [row["id"] for target in targets for row in read_results(folder / target)]
    bad = {n * ROWS + row for n, name in enumerate(targets) for row, _ in bad_rows(folder, name)}
    assert bad == {n * ROWS + n for n in range(0, FILES, 2)}
    assert ids == [n for n in range(FILES * ROWS) if n not in bad]


def test_actors_write_what_one_process_writes(
    cluster: str, data: Path, whole: tuple[Path, Any], tmp_path: Path
) -> None:
    """Actors that wait for a CPU do not block the others: four are requested, and two can run."""
    driver = start(data, tmp_path / "out", *on_ray(cluster, "--workers", "4"))
    code, out, err = ended(driver)
    assert code == 3, err
    told = ("parts", "done", "skipped", "rows", "bad", "errors")
    assert [out[name] for name in told] == [whole[1][name] for name in told]
    assert not in_the_making(tmp_path / "out")
    check(data, tmp_path / "out", whole)


def test_actors_that_are_killed_lose_nothing(
    cluster: str, data: Path, whole: tuple[Path, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    driver = start(data, folder, *on_ray(cluster))
    killed: set[int] = set()
    for _ in range(2):
        assert kill_one_at_work(folder, driver, killed), driver.communicate()
    code, out, err = ended(driver)
    assert code == 3, err
    assert (out["done"], out["rows"], out["bad"]) == (FILES, whole[1]["rows"], whole[1]["bad"])
    assert in_the_making(folder)  # files that the killed ones had begun
    check(data, folder, whole)


def test_a_part_that_takes_three_actors_with_it_is_an_error_and_goes_on_later(
    cluster: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    write_rows(tmp_path / "data", 1)
    folder = tmp_path / "out"
    driver = start(tmp_path / "data", folder, *on_ray(cluster))
    killed: set[int] = set()
    while kill_one_at_work(folder, driver, killed):
        pass
    code, out, err = ended(driver)
    assert len(killed) == 3
    assert code == 1
    assert "1.parquet: the actor that scored it died, 3 times: " in err
    assert (out["done"], len(out["errors"])) == (0, 1)
    code, out, err = ended(start(tmp_path / "data", folder, *on_ray(cluster)))
    assert (code, out["done"], out["swept"]) == (0, 1, 3), err
    assert [row["id"] for row in read_results(folder / "1.parquet")] == list(range(ROWS, 2 * ROWS))


def test_a_driver_that_is_killed_leaves_whole_files_and_the_next_goes_on(
    cluster: str, data: Path, whole: tuple[Path, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    driver = start(data, folder, *on_ray(cluster))

    def is_underway() -> bool:
        done = [*folder.glob("*.jsonl"), *folder.glob("*.parquet")]
        return bool(done and at_work(folder)) or driver.poll() is not None

    waiting.until(is_underway, BOUND_S)
    actors = at_work(folder)
    assert driver.poll() is None
    driver.kill()
    driver.communicate()
    assert actors
    code, out, err = ended(start(data, folder, *on_ray(cluster)))  # at once: actors may still live
    assert code == 3, err
    assert out["skipped"] > 0
    assert out["skipped"] + out["done"] == FILES
    waiting.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in actors), BOUND_S)
    check(data, folder, whole)


def test_a_driver_that_is_asked_to_end_says_so_and_ends_its_actors(
    cluster: str, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    driver = start(data, folder, *on_ray(cluster))
    waiting.until(lambda: bool(at_work(folder)) or driver.poll() is not None, BOUND_S)
    driver.terminate()
    code, out, _ = ended(driver)
    assert (code, out) == (128 + signal.SIGTERM, None)
    waiting.until(lambda: not at_work(folder), BOUND_S)


def test_a_cluster_of_its_own_ends_with_a_driver_that_is_killed(
    data: Path, whole: tuple[Path, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    driver = start(data, folder, "--engine", "ray", "--workers", "2")
    waiting.until(lambda: bool(at_work(folder)) or driver.poll() is not None, BOUND_S)
    started = {*children(driver.pid), *at_work(folder)}
    assert len(started) > 2
    driver.kill()
    driver.communicate()
    waiting.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), BOUND_S)
    code, out, err = ended(start(data, folder, "--engine", "ray", "--workers", "2"))
    assert code == 3, err
    assert out["skipped"] + out["done"] == FILES
    check(data, folder, whole)


def children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in found.split()]
