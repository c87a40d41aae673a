"""The list of hashes of an image names exactly the packages that are installed."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOL = ROOT / "tools" / "wheel_hashes.py"
DOCKERFILE = ROOT / "deploy" / "containers" / "Dockerfile"


def write_wheel(folder: Path, name: str, version: str, needs: str = "", text: str = "") -> Path:
    """A wheel with one module."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if needs:
        metadata += f"Requires-Dist: {needs}\n"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", text)
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def listed(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, folder], capture_output=True, text=True, check=False
    )


def install(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Install with the options of the image's file."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    (options,) = set(re.findall(r"install (--require-hashes.*?) --find-links", text))
    command = [sys.executable, "-m", "pip", "install", *options.split(), "--no-index", "--quiet"]
    command += ["--disable-pip-version-check", "--find-links", str(folder)]
    command += ["--target", str(target), "-r", str(folder / "requirements.txt")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    write_wheel(folder, "first_of_two", "1.0", needs="second")
    write_wheel(folder, "second", "2.5")
    assert listed(folder).returncode == 0
    return folder


def test_the_wheels_of_the_list_are_installed(wheels: Path, tmp_path: Path) -> None:
    done = install(wheels, tmp_path / "target")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "target" / "first_of_two.py").exists()
    assert (tmp_path / "target" / "second.py").exists()
    text = (wheels / "requirements.txt").read_text()
    assert text.startswith("first-of-two==1.0 \\\n    --hash=sha256:")
    assert not re.search(r"://|--index", text)


def test_a_wheel_that_was_changed_is_refused(wheels: Path, tmp_path: Path) -> None:
    write_wheel(wheels, "second", "2.5", text="changed = True")
    done = install(wheels, tmp_path / "target")
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "target").exists()


def test_what_is_not_in_the_list_is_refused(wheels: Path, tmp_path: Path) -> None:
    write_wheel(wheels, "first_of_two", "1.0", needs="third")
    assert listed(wheels).returncode == 0
    write_wheel(wheels, "third", "1.0")
    done = install(wheels, tmp_path / "target")
    assert done.returncode != 0
    assert "hash" in done.stderr


def test_wheels_for_two_machines_are_one_requirement(wheels: Path) -> None:
    other = wheels / "second-2.5-cp311-cp311-manylinux2014_aarch64.whl"
    other.write_bytes(b"another")
    assert listed(wheels).returncode == 0
    text = (wheels / "requirements.txt").read_text()
    assert text.count("second==2.5") == 1
    assert text.count("--hash=sha256:") == 3


def test_two_versions_and_none_are_refused(wheels: Path, tmp_path: Path) -> None:
    write_wheel(wheels, "second", "2.6")
    done = listed(wheels)
    assert done.returncode == 1
    assert "second in 2 versions (2.5, 2.6)" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "no wheels" in listed(tmp_path / "empty").stderr


def test_what_builds_a_release_is_known_by_its_hashes() -> None:
    text = (ROOT / "requirements" / "release.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all("==" in line and "--hash=sha256:" in line for line in lines)
    pins = (ROOT / "requirements" / "release.in").read_text().splitlines()
    named = {line for line in pins if not line.startswith("#")}
    assert named
    assert named <= {line.split()[0] for line in lines}
