"""The wheel contains everything in the tree."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from architecture.sources import ROOT, modules

SHIPPED_BESIDE_CODE = ("*.pyi", "*.proto", "py.typed")
SHIPPED_DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


@pytest.fixture(scope="module")
def packages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packages", ROOT / "tools" / "packages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_folder_is_listed(packages: ModuleType) -> None:
    assert packages.declared() == packages.present(), (
        "pyproject.toml lists other packages than there are folders. "
        "Try: python tools/packages.py --write"
    )


def test_every_folder_is_a_package(packages: ModuleType) -> None:
    assert packages.without_init() == [], "these folders need an __init__.py with a docstring"


def test_a_folder_that_is_not_listed_is_noticed(packages: ModuleType, tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    new = tmp_path / "core" / "brand_new"
    new.mkdir(parents=True)
    (new / "noun.py").touch()
    assert "pinnace.brand_new" in packages.present(tmp_path)
    assert packages.without_init(tmp_path) == ["core/brand_new"]
    packages.write(tmp_path)
    assert packages.declared(tmp_path) == ["pinnace.brand_new"]


@pytest.mark.slow
def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    wanted = {f"{name.replace('.', '/')}" for name in modules()}
    with zipfile.ZipFile(build_wheel(tmp_path)) as wheel:
        held = wheel.namelist()
    code = {name.removesuffix(".py").removesuffix("/__init__") for name in held if ".py" in name}
    assert wanted <= code, f"not in the wheel: {sorted(wanted - code)}"
    for pattern in SHIPPED_BESIDE_CODE:
        count = sum(len(list((ROOT / top).rglob(pattern))) for top in tops())
        assert count, f"no {pattern} in the tree"
        assert sum(Path(name).match(pattern) for name in held) == count, f"{pattern} in the wheel"
    foreign = {name.split("/")[0] for name in held} - {"pinnace"}
    assert all(name.endswith((".dist-info", ".data")) for name in foreign), (
        f"also installs {foreign}"
    )
    for file in SHIPPED_DOCUMENTS:
        assert any(name.endswith(f".data/data/share/pinnace/{file}") for name in held), file


def build_wheel(folder: Path) -> Path:
    """A wheel of a copy, so that an older build/ in the tree adds nothing."""
    copy = folder / "tree"
    copy.mkdir()
    for top in tops():
        shutil.copytree(ROOT / top, copy / top, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "tools").mkdir()
    for file in ("pyproject.toml", "LICENSE", "tools/build_backend.py", *SHIPPED_DOCUMENTS):
        shutil.copy(ROOT / file, copy / file)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(command, check=True, env={**os.environ, "PINNACE_BUILD_KERNELS": "0"})
    (wheel,) = folder.glob("*.whl")
    return wheel


def tops() -> list[str]:
    """The folders at the top that are packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    return list(settings["package-dir"].values())
