"""Wheels for a system with the machine code of its processors: the libraries and the build.

As a program it makes one of the working tree, which `make arm64` tries:

    platform_wheel.py linux-aarch64 build/platforms/wheels [FOLDER WITH ZIGLANG]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import build_only

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "core/engine/library"  # where the package has its machine code
GLIBC = 28  # of version 2: Debian 10, Ubuntu 18.10, RHEL 8 and later


class Platform(NamedTuple):
    """What a wheel is for.

    Attributes:
        system: its name for `pinnace.engine.ahead.installing`.
        processors: what its libraries are for; on other processors NumPy's kernels answer.
        tag: of the wheel.
    """

    system: str
    processors: str
    tag: str


# Older processors of x86-64 (before 2013) are left out: what they lack makes their library the
# largest, 1.9 MB (0.6 packed; v3 has 1.0 and 0.4).
PLATFORMS = (
    Platform("linux-x86_64", "x86-64-v3,x86-64-v4", f"manylinux_2_{GLIBC}_x86_64"),
    Platform("linux-aarch64", "generic", f"manylinux_2_{GLIBC}_aarch64"),
    Platform("macos-arm64", "generic", "macosx_11_0_arm64"),
    Platform("windows-x86_64", "x86-64-v3", "win_amd64"),
)


def compile_library(platform: Platform, folder: Path, zig: Path | None) -> str:
    """Compile a platform's libraries to a folder; what the program said.

    Args:
        platform: what they are for.
        folder: created or replaced; kept if it has the same kernels.
        zig: the folder with the package `ziglang`, where this interpreter does not have it.

    Raises:
        CalledProcessError: they could not be made.
    """
    module = [sys.executable, "-m", "pinnace.engine.ahead.installing", "--must"]
    options = ["--system", platform.system, "--processors", platform.processors]
    command = [*module, *options, "--folder", str(folder)]
    places = [*([str(zig.absolute())] if zig else []), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    done = subprocess.run(command, check=True, text=True, capture_output=True, env=environment)
    return done.stdout.strip()


def build(
    platform: Platform, library: Path, tree: Path, target: Path, python: object, seconds: int
) -> None:
    """Build the wheel of a tree that nothing was built in, without what its library was made of.

    Args:
        platform: what it is for.
        library: the folder of its libraries.
        tree: the sources; the libraries are put into it, and what only their build needs is
            removed.
        target: the folder for the wheel.
        python: the interpreter, with pip and setuptools.
        seconds: since 1970, of the files in the wheel.

    Raises:
        CalledProcessError: the build failed.
    """
    shutil.rmtree(tree / LIBRARY, ignore_errors=True)
    shutil.copytree(library, tree / LIBRARY)
    build_only.leave_out(tree)
    wheel = [str(python), "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    option = f"--config-settings=--build-option=--plat-name={platform.tag}"
    command = [*wheel, "--disable-pip-version-check", option, "--wheel-dir", str(target), str(tree)]
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(seconds),
        "PINNACE_BUILD_KERNELS": "0",  # they are there
    }
    subprocess.run(command, check=True, text=True, capture_output=True, env=environment)


def main() -> int:
    """Build the wheel of what git knows in the working tree."""
    system, target = sys.argv[1], Path(sys.argv[2]).absolute()
    zig = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    (platform,) = [one for one in PLATFORMS if one.system == system]
    shutil.rmtree(target, ignore_errors=True)
    # Kept: an existing library with the same kernels is not made again.
    library = target.parent / f"library-{system}"
    try:
        sys.stdout.write(compile_library(platform, library, zig) + "\n")
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch, "tree")
            listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others"]
            names = subprocess.run(
                [*listed, "--exclude-standard"], check=True, capture_output=True, text=True
            ).stdout
            for name in filter(None, names.split("\0")):
                if (ROOT / name).is_file():  # and not removed since
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, tree / name)
            build(platform, library, tree, target, sys.executable, int(time.time()))
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error.stdout or ''}{error.stderr or ''}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
