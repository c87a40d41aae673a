"""The memory limit of a process is that of its machine, container or own limits."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinnace.serving.command import parse_settings
from pinnace.serving.config import memory_limits
from pinnace.serving.config.memory_limits import (
    default_inflight_bytes,
    default_run_bytes,
    memory_limit,
)

MEGABYTE = 2**20
LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_DATA, (700 << 20, 700 << 20))
from pinnace.serving.command import parse_settings
settings, _ = parse_settings(["m=/m"])
print(settings.max_run_bytes >> 20, settings.max_inflight_bytes >> 20)
"""


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of control groups in place of the system's, and the process's place in it."""
    monkeypatch.setattr(memory_limits, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory_limits, "_OWN_CGROUPS", tmp_path / "own")
    memory_limit.cache_clear()
    yield tmp_path / "groups"
    memory_limit.cache_clear()


def limit(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"{text}\n")


def test_without_groups_it_is_the_machine(groups: Path) -> None:
    del groups
    assert memory_limit() >= 256 * MEGABYTE


def test_a_container_that_sees_its_own_group(groups: Path) -> None:
    limit(groups, "memory.max", str(512 * MEGABYTE))
    assert memory_limit() == 512 * MEGABYTE
    assert default_run_bytes() == 256 * MEGABYTE
    assert default_inflight_bytes() == 64 * MEGABYTE


@pytest.mark.parametrize(
    ("own", "where", "name"),
    [
        ("0::/pod/container", "pod/container", "memory.max"),
        ("0::/pod/container", "pod", "memory.max"),
        ("0::/pod/container", "pod/container", "memory.high"),
        ("5:cpu:/x\n4:memory:/docker/one", "memory/docker/one", "memory.limit_in_bytes"),
        ("3:cpu,memory:/docker/one", "memory/docker", "memory.limit_in_bytes"),
    ],
)
def test_the_group_of_the_process_and_those_above_count(
    groups: Path, own: str, where: str, name: str
) -> None:
    groups.with_name("own").write_text(f"{own}\n")
    limit(groups / where, name, str(300 * MEGABYTE))
    limit(groups / "pod" / "container" / "within", "memory.max", "1")  # of another process
    assert memory_limit() == 300 * MEGABYTE


def test_a_group_without_a_limit_limits_nothing(groups: Path) -> None:
    before = memory_limit()
    memory_limit.cache_clear()
    groups.with_name("own").write_text("0::/pod\nno line of this file\n")
    limit(groups / "pod", "memory.max", "max")
    limit(groups, "memory.max", str(2**62))
    assert memory_limit() == before
    assert default_inflight_bytes() <= 2**30


def test_limits_of_the_process_are_what_a_server_keeps_to() -> None:
    found = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["350", "87"]


def test_flags_say_it_themselves(groups: Path) -> None:
    limit(groups, "memory.max", str(512 * MEGABYTE))
    settings, _ = parse_settings(["m=/m", "--max_inflight_bytes=0", "--max_run_bytes=7"])
    assert (settings.max_inflight_bytes, settings.max_run_bytes) == (0, 7)
