"""A local Ray cluster, and `pinnace score` on it, in separate processes."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from support.golden import FOLDER
from support.scoring import write_jsonl, write_parquet

FILES, ROWS = 6, 1500
MODEL = FOLDER / "saved_models" / "keras_mlp" / "model"
# All of it ends with this process.
_CLUSTER = """
import sys
import ray
found = ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=100_000_000,
                 log_to_driver=False, logging_level="ERROR")
print(found.address_info["address"], flush=True)
sys.stdin.read()
"""
# Machine code sums in another order: only the plan always gives the same bits. That only the driver
# gets this setting is part of the tests.
_PLAN = {"PINNACE_TIER": "plan"}
# A Ray cluster accepts only clients that know its token.
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
BOUND_S = 300


@contextlib.contextmanager
def running_cluster() -> Iterator[str]:
    """A cluster with two CPUs and `TOKEN`: its address."""
    environment = {**os.environ, **TOKEN, "RAY_raylet_start_wait_time_s": str(BOUND_S)}
    command = [sys.executable, "-c", _CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert ":" in address
        yield address
        process.communicate(timeout=BOUND_S)


def write_rows(folder: Path, number: int) -> None:
    """Write a Parquet file, or a JSON file with a bad row."""
    x = np.random.default_rng(number).standard_normal((ROWS, 8)).astype(np.float32)
    ids = range(number * ROWS, (number + 1) * ROWS)
    if number % 2:
        write_parquet(folder / f"{number}.parquet", {"id": list(ids), "features": x})
        return
    rows: list[Any] = [{"id": n, "features": one} for n, one in zip(ids, x.tolist(), strict=True)]
    rows[number]["features"] = "bad"
    write_jsonl(folder / f"{number}.jsonl", rows)


def start(
    data: Path,
    folder: Path,
    *more: str,
    model: Path = MODEL,
    own: dict[str, str | None] | None = None,
) -> subprocess.Popen[str]:
    """Start `pinnace score`; `own` has environment variables, None unsets one."""
    keep = ["--keep", "id"] if model == MODEL else []
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "score", model]
    command += ["--input", data, "--output", folder, *keep, "--batch-size", "4", "--json"]
    environment = {**os.environ, **TOKEN, **_PLAN, **(own or {})}
    return subprocess.Popen(
        [*map(str, command), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in environment.items() if value is not None},
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, Any, str]:
    """The exit code, the JSON summary, and stderr."""
    try:
        out, err = process.communicate(timeout=BOUND_S)
    finally:
        process.kill()
    assert "Traceback" not in err
    return process.returncode, json.loads(out) if out else None, err


def on_ray(address: str, *more: str) -> list[str]:
    """The flags for Ray."""
    return ["--engine", "ray", "--ray-address", address, *more]
