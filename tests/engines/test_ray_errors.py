"""`pinnace score --engine ray`: settings of actors, and the errors of those that cannot work."""

import os
import re
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.score import ScoreSettings
from pinnace.framework.errors import UnavailableError
from support.ray_cluster import BOUND_S, FILES, MODEL, ROWS, TOKEN, ended, on_ray, start, write_rows
from support.scoring import read_results, write_parquet

pytestmark = pytest.mark.engines
integration = pytest.importorskip("pinnace.integrations.ray")

GATES = """
import pinnace as tf

class Gate(tf.keras.layers.Layer):
    def call(self, x):
        return x * 3.0 + 1.0
"""


def test_files_that_cannot_be_read_are_told_as_by_one_process(cluster: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write_rows(folder, 1)
    (folder / "half.parquet").write_bytes((folder / "1.parquet").read_bytes()[:300])
    code, out, err = ended(start(folder, tmp_path / "out", *on_ray(cluster)))
    assert code == 1
    assert (out["done"], out["rows"], len(out["errors"])) == (1, ROWS, 1)
    assert "half.parquet is damaged or cut short" in err


def test_paths_may_be_relative(cluster: str, tmp_path: Path, monkeypatch: Any) -> None:
    write_parquet(tmp_path / "data" / "a.parquet", {"id": [7], "features": np.ones((1, 8))})
    monkeypatch.chdir(tmp_path)
    code, _, err = ended(start(Path("data"), Path("out"), *on_ray(cluster)))
    assert code == 0, err
    assert [row["id"] for row in read_results(tmp_path / "out" / "a.parquet")] == [7]


def test_a_model_that_does_not_fit_is_the_error_of_the_run(
    cluster: str, data: Path, tmp_path: Path
) -> None:
    process = start(data, tmp_path / "out", *on_ray(cluster, "--outputs", "none"))
    code, out, err = ended(process)
    assert (code, out) == (1, None)
    assert "has no output 'none'" in err
    assert f"0 of {FILES} files are done" in err


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "ray: no cluster at 127.0.0.1:1: Connection refused"),
        ("there", "ray: the address of a cluster is HOST:PORT, auto or local, got 'there'"),
        ("ray://there:10001", "HOST:PORT, auto or local, got 'ray://there:10001'"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_error(
    address: str, said: str, data: Path, tmp_path: Path
) -> None:
    code, out, err = ended(start(data, tmp_path / "out", *on_ray(address)))
    assert (code, out) == (1, None)
    assert said in err
    assert len(err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"RAY_AUTH_TOKEN": "another" * 4}, "its token is another than this process has"),
        ({"RAY_AUTH_MODE": None}, "none was sent, as RAY_AUTH_MODE is not `token`"),
        ({"RAY_AUTH_MODE": None, "RAY_AUTH_TOKEN": None}, "as RAY_AUTH_MODE is not `token`"),
        ({"RAY_AUTH_TOKEN": None}, "Token authentication is enabled but no"),
        ({"RAY_AUTH_TOKEN": None, "RAY_AUTH_TOKEN_PATH": "/none/word"}, ": /none/word"),
    ],
)
def test_a_token_that_is_not_the_clusters_is_one_error(
    own: dict[str, str | None],
    said: str,
    cluster: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray looks for a token, too
    code, out, err = ended(start(data, tmp_path / "out", *on_ray(cluster), own=own))
    assert (code, out) == (1, None)
    problem, advice = err.splitlines()
    assert problem.startswith(f"pinnace score: ray: the cluster at {cluster} cannot be asked: ")
    assert said in problem
    assert f"0 of {FILES} files are done" in problem
    assert advice.startswith(
        "  Try: RAY_AUTH_MODE=token, and the cluster's token in RAY_AUTH_TOKEN"
    )


def test_what_answers_and_is_no_cluster_is_one_error(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integration, "_ANSWER_S", 4.0)
    settings = ScoreSettings(str(MODEL), (str(data),), str(tmp_path / "out"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        said = f"ray: no cluster at {address}: no answer in 4 s\n  Try: "
        with pytest.raises(UnavailableError, match=re.escape(said)):
            list(integration.actor_pool(address)(settings, [], print))


def test_actors_import_modules_from_the_folder_of_the_command(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Keras file with a class that only the module of `--import` has."""
    name = f"gates_{secrets.token_hex(4)}"
    (tmp_path / f"{name}.py").write_text(GATES)
    gates: dict[str, Any] = {"__name__": name}
    exec(GATES, gates)
    layers = [tf.keras.Input((2,), name="x"), gates["Gate"]()]
    tf.keras.Sequential(layers).save(tmp_path / "gated.keras")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    write_parquet(tmp_path / "data" / "a.parquet", {"x": x})
    monkeypatch.chdir(tmp_path)
    data = Path("data")
    code, _, err = ended(start(data, Path("no"), *on_ray(cluster), model=Path("gated.keras")))
    assert code == 1
    assert "Try: --import MODULE" in err
    more = on_ray(cluster, "--import", name)
    code, out, err = ended(start(data, Path("out"), *more, model=Path("gated.keras")))
    assert (code, out and out["rows"]) == (0, 3), err
    (column,) = {key for row in read_results(Path("out/a.parquet")) for key in row}
    np.testing.assert_array_equal(
        [row[column] for row in read_results(Path("out/a.parquet"))], x * 3 + 1
    )


# Programs, since they have settings that the command line lacks.
ENGINE = """
import sys, types
import ray
from pinnace.deploy.score import plan_run, run_plan, ScoreSettings
from pinnace.framework.errors import OpError
from pinnace.integrations.ray import actor_pool

address, model, data, out = sys.argv[1:]
settings = ScoreSettings(model, (data,), out)
{prepare}
plan = plan_run(settings)
try:
    run_plan(plan, engine=actor_pool(address, start_timeout_s={seconds}))
except OpError as error:
    print(type(error).__name__, error)
"""
# As if the library were not installed: the pickled arguments of actors cannot be loaded there.
UNKNOWN = """
only_here = sys.modules["only_here"] = types.ModuleType("only_here")
vars(only_here)["ScoreSettings"] = ScoreSettings
exec("class Settings(ScoreSettings): pass", vars(only_here))
settings = only_here.Settings(model, (data,), out)
"""
BUSY = """
ray.init(address=address, log_to_driver=False, logging_level="ERROR")
class Other:
    def here(self):
        return True
other = ray.remote(num_cpus=2)(Other).remote()
ray.get(other.here.remote())
"""


@pytest.mark.parametrize(
    ("prepare", "seconds", "said"),
    [
        (
            UNKNOWN,
            BOUND_S,
            "UnavailableError ray: actors cannot start: ModuleNotFoundError: No module",
        ),
        (
            BUSY,
            5,
            "UnavailableError ray: no actor has started for 5 s; the cluster has 2 CPUs, and 0",
        ),
    ],
)
def test_actors_that_do_not_start_are_one_error(
    prepare: str, seconds: int, said: str, cluster: str, data: Path, tmp_path: Path
) -> None:
    program = ENGINE.format(prepare=prepare, seconds=seconds)
    arguments = [cluster, MODEL, data, tmp_path / "out"]
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND_S,
        env={**os.environ, **TOKEN},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(said)
