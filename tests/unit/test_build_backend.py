"""What `pip install .` builds: requirements and the tag of the wheel."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("setuptools")
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "tools/build_backend.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.delenv("PINNACE_BUILD_KERNELS", raising=False)
    monkeypatch.delenv("CC", raising=False)
    return module


def test_a_compiler_of_the_package_index_where_there_is_none(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend.shutil, "which", lambda _: None)
    assert backend.get_requires_for_build_wheel()[-2:] == ["numba>=0.62", "ziglang"]
    monkeypatch.setattr(backend.shutil, "which", lambda name: "/bin/cc" if name == "cc" else None)
    assert "ziglang" not in backend.get_requires_for_build_wheel()


@pytest.mark.parametrize(
    ("system", "machine", "asked"),
    [("linux", "x86_64", "0"), ("darwin", "x86_64", "1"), ("win32", "ARM64", "1")],
)
def test_no_kernels(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, system: str, machine: str, asked: str
) -> None:
    monkeypatch.setattr(backend.sys, "platform", system)
    monkeypatch.setattr(backend.platform, "machine", lambda: machine)
    monkeypatch.setenv("PINNACE_BUILD_KERNELS", asked)
    assert not any("numba" in one for one in backend.get_requires_for_build_wheel())
    assert _settings(backend, monkeypatch) == {}


def test_a_wheel_with_kernels_is_for_this_kind_of_machine(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(backend, "LIBRARY", tmp_path)
    assert _settings(backend, monkeypatch) == {}  # compiling has failed: a wheel for any machine
    (tmp_path / "kernels.json").touch()
    for system, tag in (
        ("linux-x86_64", "linux_x86_64"),
        ("macosx-11.0-arm64", "macosx_11_0_arm64"),
        ("win-amd64", "win_amd64"),
    ):
        monkeypatch.setattr(backend.sysconfig, "get_platform", lambda system=system: system)
        assert _settings(backend, monkeypatch) == {"--build-option": [f"--plat-name={tag}"]}


def test_windows_has_no_c_compiler_of_this_kind_and_may_have_no_links(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(backend.sys, "platform", "win32")
    monkeypatch.setattr(backend.platform, "machine", lambda: "AMD64")
    monkeypatch.setattr(backend.shutil, "which", lambda name: f"C:/{name}")
    assert backend.get_requires_for_build_wheel()[-1] == "ziglang"

    def refuse(self: Path, target: Path) -> None:
        raise OSError(f"{self} cannot be a link to {target}")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file.py").write_text("1")
    backend._show(tmp_path / "folder", tmp_path / "other")
    backend._show(tmp_path / "folder" / "file.py", tmp_path / "file.py")
    for one in (tmp_path / "other" / "file.py", tmp_path / "file.py"):
        assert one.read_text() == "1"


def test_its_pins_are_those_of_the_project(backend: ModuleType) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert all(f'"{pin}"' in text for pin in backend.COMPILER)


def _settings(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    def build(_: str, settings: dict[str, Any], __: str | None) -> str:
        seen.update(settings)
        return "x.whl"

    monkeypatch.setattr(backend, "_compile", lambda: None)
    monkeypatch.setattr(backend.build_meta, "build_wheel", build)
    assert backend.build_wheel("dist") == "x.whl"
    return seen
