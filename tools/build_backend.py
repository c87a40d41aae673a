"""A build backend on top of setuptools that puts machine code in the wheel.

`pip install .` compiles the general kernels for the local processor, a minute on two cores, and
caches them in `core/engine/library` until their sources change. A wheel with them is for this
platform, one without them for any. An editable install compiles nothing: `make setup` does that.
See `core/engine/ahead/installing.py`.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import build_editable as build_editable
from setuptools.build_meta import build_sdist as build_sdist
from setuptools.build_meta import get_requires_for_build_editable as get_requires_for_build_editable
from setuptools.build_meta import get_requires_for_build_sdist as get_requires_for_build_sdist
from setuptools.build_meta import prepare_metadata_for_build_editable as _metadata_of_editable
from setuptools.build_meta import prepare_metadata_for_build_wheel as _metadata_of_wheel

prepare_metadata_for_build_editable = _metadata_of_editable
prepare_metadata_for_build_wheel = _metadata_of_wheel

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "core" / "engine" / "library"
# Their versions are those in pyproject.toml; Numba is needed to build, not to run.
COMPILER = ["numpy>=2.0", "ml_dtypes>=0.5", "protobuf>=6.31.1,<8", "numba>=0.62"]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The requirements that pip installs in addition to setuptools before it builds."""
    found: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    if not _is_wanted():
        return found
    has_compiler = sys.platform != "win32" and (
        os.environ.get("CC") or any(map(shutil.which, ("cc", "gcc", "clang")))
    )
    return [*found, *COMPILER, *([] if has_compiler else ["ziglang"])]


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Compile the kernels where that is wanted and possible, and build the wheel."""
    if _is_wanted():
        _compile()
    settings = dict(config_settings or {})
    if _is_wanted() and (LIBRARY / "kernels.json").exists() and "--build-option" not in settings:
        settings["--build-option"] = [f"--plat-name={_tag()}"]
    return str(build_meta.build_wheel(wheel_directory, settings, metadata_directory))


def _is_wanted() -> bool:
    if os.environ.get("PINNACE_BUILD_KERNELS") == "0":
        return False
    # Numba and kernels are for those.
    return sys.platform == "linux" or (sys.platform, platform.machine()) in {
        ("darwin", "arm64"),
        ("win32", "AMD64"),
    }


def _tag() -> str:
    """The platform of a wheel for this machine."""
    return re.sub(r"[-.]", "_", sysconfig.get_platform())


def _compile() -> None:
    """Run the sources under their import names; if it fails, the wheel has no kernels."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "pinnace"
        package.mkdir()
        for path in [*(ROOT / "core").iterdir(), *map(ROOT.joinpath, _BESIDE)]:
            if path.name != "__pycache__":
                _show(path, package / path.name)
        places = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        subprocess.run(
            [sys.executable, "-m", "pinnace.engine.ahead.installing", "--folder", str(LIBRARY)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
            check=False,
        )


def _show(path: Path, name: Path) -> None:
    """Have a file or a folder under another name: a link, or a copy where links are not allowed."""
    try:
        name.symlink_to(path)
    except OSError:  # Windows allows them to administrators
        if path.is_dir():
            shutil.copytree(path, name)
        else:
            shutil.copy2(path, name)


_BESIDE = ("proto", "saved_model", "serving", "deploy")
