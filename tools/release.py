"""Builds the release files: sdist and wheels, built twice and compared, with their requirements.

A wheel for each of `platform_wheel.PLATFORMS` contains the machine code of the general kernels; one
for any platform contains none. This machine's is tried; of the others the files are read: which
system and processor they are for, what they offer and what they need. Everything is built from the
commit, not from the working tree, in dist/. Without a tag `vVERSION` on the commit it is a
rehearsal, and says so.
"""

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import archives
import library_files
import platform_wheel
from platform_wheel import GLIBC, PLATFORMS, Platform

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SMOKE = ROOT / "tests" / "end_to_end" / "wheel_smoke.py"
SITE = "deploy/cli/site.tar.xz"  # where the package has the documentation
# What the libraries may need of a system: what every installation of it has.
NEEDED = {
    "linux": re.compile(r"lib[cm]\.so\.6|ld-linux.*"),
    "macos": re.compile(r"/usr/lib/libSystem\.B\.dylib"),
    "windows": re.compile(r"KERNEL32\.dll|ntdll\.dll|api-ms-win-crt-\w+-l1-1-0\.dll"),
}
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
MIB = 2**20
# Budgets: what a release may weigh, and how long its import may take beside NumPy's, which it
# contains. One that is passed is a reason to look, not to raise it.
WHEEL_MIB = 6.0
UNPACKED_MIB = 16.0
INSTALLED_MIB = 140.0  # without bytecode, which pip and Python make
IMPORT_TIMES_NUMPY = 3.0
IMPORT_ROUNDS = 5
# Licences that allow what the project's own does.
LICENCES = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software|ISC|MPL|Mozilla|HPND|Unlicense|Zlib|0BSD|CC0)", re.I
)
# Metadata that name none; these are what the licence file of the package is.
READ = {"pysimdjson": "MIT"}


class ReleaseError(Exception):
    """Something that must hold of a release does not."""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True, help="folder of build, twine, …")
    parser.add_argument("--site", type=Path, help="the packed documentation for the wheel")
    parser.add_argument("--zig", type=Path, help="the folder with the package ziglang")
    parser.add_argument("--pythons", nargs="*", default=None, help=f"else of {', '.join(PYTHONS)}")
    options = parser.parse_args()
    try:
        release(options.programs.absolute(), options.site, options.zig, options.pythons)
    except ReleaseError as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"release: {' '.join(map(str, error.cmd))}: {error.returncode}\n")
        sys.stderr.write(f"{error.stdout or ''}{error.stderr or ''}")
        return 1
    return 0


def release(
    programs: Path, site: Path | None, zig: Path | None, pythons: Sequence[str] | None
) -> None:
    """All steps, in order."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    _check_commit(version)
    seconds = int(_git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as scratch:
        libraries = {one: _compiled(one, Path(scratch, one.system), zig) for one in PLATFORMS}
        first, second = (
            _built(Path(scratch, name), programs, seconds, site, libraries)
            for name in ("one", "another")
        )
        _compare(first, second)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(first, DIST)
    wheels = sorted(DIST.glob("*.whl"))
    print(_run([programs / "python", ROOT / "tools" / "smaller_wheels.py", *wheels]), end="")
    files = sorted(DIST.iterdir())
    _run([programs / "twine", "check", "--strict", *files])
    (wheel,) = DIST.glob(f"*{PLATFORMS[0].tag}.whl")
    for one in wheels:
        # Libraries are no modules of Python; the modules beside them are those of the other wheel.
        allowed = [] if one.name.endswith("-any.whl") else ["--ignore", "W004"]
        _run([programs / "check-wheel-contents", *allowed, one])
        _weigh(one)
    with tempfile.TemporaryDirectory() as scratch:
        tried = [
            _tried(Path(scratch, Path(python).name), python, wheel)
            for python in _interpreters(pythons)
        ]
        name = f"pinnace-{version}"
        _bill_of_materials(programs, tried[0], DIST / f"{name}.cdx.json")
        _licences(programs, tried[0], DIST / f"{name}-licences.md")
    made = [file for file in sorted(DIST.iterdir()) if file.name != "SHA256SUMS"]
    sums = "".join(f"{archives.digest(file)}  {file.name}\n" for file in made)
    (DIST / "SHA256SUMS").write_text(sums)
    print(sums, end="")


def _check_commit(version: str) -> None:
    if _git("status", "--porcelain"):
        raise ReleaseError("the tree has changes that are in no commit\n  Try: git stash")
    tags = [tag for tag in _git("tag", "--points-at", "HEAD").split() if tag.startswith("v")]
    if not tags:
        print(f"a rehearsal: the commit has no tag v{version}")
        return
    if tags != [f"v{version}"]:
        raise ReleaseError(f"the commit's tags are {tags}, and pyproject.toml says {version!r}")
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        raise ReleaseError(f"CHANGELOG.md has no heading for {version}")


def _compiled(platform: Platform, folder: Path, zig: Path | None) -> Path:
    """The machine code for the processors of a wheel, which runs on systems as old as said."""
    print(platform_wheel.compile_library(platform, folder, zig))
    for entry in json.loads((folder / "kernels.json").read_text())["libraries"]:
        _check_library(platform, folder / entry["file"], set(entry["kernels"].values()))
    return folder


def _check_library(platform: Platform, file: Path, symbols: set[str]) -> None:
    found = library_files.read(file)
    if found.system != platform.system:
        raise ReleaseError(f"{file.name} is for {found.system}, not for {platform.system}")
    missing = sorted(symbols - found.offered)
    if missing:
        raise ReleaseError(f"{file.name} does not offer {missing[0]}, and {len(missing)} in all")
    known = NEEDED[platform.system.partition("-")[0]]
    strange = [one for one in found.needed if not known.fullmatch(one)]
    if strange:
        raise ReleaseError(f"{file.name} needs {', '.join(strange)}")
    newest = max(map(int, re.findall(rb"GLIBC_2\.(\d+)", file.read_bytes())), default=0)
    if newest > GLIBC:
        raise ReleaseError(f"{file.name} wants glibc 2.{newest}, and is to run with 2.{GLIBC}")


def _built(
    folder: Path, programs: Path, seconds: int, site: Path | None, libraries: dict[Platform, Path]
) -> Path:
    """A folder with sdist and wheels, the latter made of the former."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    packed = subprocess.run(
        ["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as commit:
        commit.extractall(tree, filter="data")
    if site:
        shutil.copyfile(site, tree / SITE)
        _leave_out_pages(tree / "pyproject.toml")
    for number, file in enumerate(sorted(tree.rglob("*"))):  # no two builds see the same times
        os.utime(file, (number, seconds - number - len(folder.name) * 100_000))
    target = folder / "dist"
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(seconds),
        "PINNACE_BUILD_KERNELS": "0",  # they are made once, for all processors, and copied in
    }
    command = [programs / "python", "-m", "build", "--no-isolation", "--outdir", target, tree]
    _run(command, environment)
    (sdist,) = target.glob("*.tar.gz")
    archives.repack(sdist, seconds)
    for one, library in libraries.items():
        with tarfile.open(sdist) as packed_tree:
            packed_tree.extractall(folder / one.system, filter="data")
        (own,) = (folder / one.system).iterdir()
        platform_wheel.build(one, library, own, target, programs / "python", seconds)
    return target


def _leave_out_pages(project: Path) -> None:
    """The sources of the pages stay out of a wheel that has the site made of them (0.3 MiB)."""
    text = project.read_text()
    shorter = re.sub(r"\[tool\.setuptools\.data-files\]\n(?:.+\n)+", "", text)
    if shorter == text:
        raise ReleaseError("pyproject.toml has no table of data files any more")
    project.write_text(shorter)


def _compare(first: Path, second: Path) -> None:
    names = sorted(file.name for file in first.iterdir())
    if names != sorted(file.name for file in second.iterdir()):
        raise ReleaseError("the two builds made files of other names")
    found = [line for name in names for line in archives.differences(first / name, second / name)]
    if found:
        raise ReleaseError("two builds of one commit differ:\n  " + "\n  ".join(found[:20]))
    print(f"equal bit for bit: {', '.join(names)}")


def _weigh(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        unpacked = sum(entry.file_size for entry in opened.infolist()) / MIB
    _within("the wheel, MiB", wheel.stat().st_size / MIB, WHEEL_MIB)
    _within("the wheel unpacked, MiB", unpacked, UNPACKED_MIB)


def _within(what: str, value: float, budget: float) -> None:
    print(f"{what}: {value:.2f} of {budget:g}")
    if value > budget:
        raise ReleaseError(f"{what}: {value:.2f} is above the budget of {budget:g}")


def _interpreters(named: Sequence[str] | None) -> list[str]:
    """The interpreters that run: a name on the PATH may be a shim without an interpreter."""
    found = []
    for name in named or PYTHONS:
        path = shutil.which(name)
        runs = path and subprocess.run([path, "-c", ""], check=False, capture_output=True)
        if runs and runs.returncode == 0:
            found.append(str(path))
        else:
            print(f"{name}: not on this machine")
    if not found:
        raise ReleaseError("there is no Python to try the wheel in\n  Try: --pythons PATH")
    return found


def _tried(folder: Path, python: str, wheel: Path) -> Path:
    """The interpreter of an empty environment in which the wheel did the main job."""
    _run([python, "-m", "venv", "--without-pip", folder])
    inside = folder / "bin" / "python"
    install = ["install", "--quiet", "--disable-pip-version-check", wheel]
    _run([sys.executable, "-m", "pip", "--python", inside, *install])
    print(_run([inside, "--version"]).strip(), end=": ")
    _run([inside, SMOKE], cwd=folder)
    print("trained, saved, loaded, shown")
    files = [file for file in (folder / "lib").rglob("*") if file.suffix != ".pyc"]
    size = sum(file.stat().st_size for file in files if file.is_file())
    _within("  installed with what it needs, MiB", size / MIB, INSTALLED_MIB)
    _within("  import, times NumPy's", _import_ratio(inside, folder), IMPORT_TIMES_NUMPY)
    return inside


def _import_ratio(python: Path, folder: Path) -> float:
    """The least processor time of an import in a process, beside NumPy's in turns."""
    least = {"pinnace": float("inf"), "numpy": float("inf")}
    program = "import time; {}; print(time.process_time())"
    for _ in range(IMPORT_ROUNDS):
        for name in least:
            told = _run([python, "-c", program.format(f"import {name}")], cwd=folder)
            least[name] = min(least[name], float(told))
    return least["pinnace"] / least["numpy"]


def _bill_of_materials(programs: Path, python: Path, target: Path) -> None:
    options = ["--output-reproducible", "--of", "JSON", "-o", target]
    project = ["--pyproject", ROOT / "pyproject.toml"]
    _run([programs / "cyclonedx-py", "environment", *project, *options, python])
    count = len(json.loads(target.read_text())["components"])
    if count < 10:
        raise ReleaseError(f"{target.name} has {count} components: the environment was not read")
    print(f"{target.name}: {count} components")


def _licences(programs: Path, python: Path, target: Path) -> None:
    command = [programs / "pip-licenses", "--python", python, "--from=mixed", "--with-system"]
    told = json.loads(_run([*command, "--format=json"]))
    for one in told:
        if one["License"] == "UNKNOWN":
            one["License"] = READ.get(one["Name"], "UNKNOWN")
    other = [f"{one['Name']}: {one['License']}" for one in told if not _is_free(one["License"])]
    if other:
        raise ReleaseError("licences to look at:\n  " + "\n  ".join(other))
    rows = [f"| {one['Name']} | {one['Version']} | {one['License']} |" for one in told]
    target.write_text("\n".join(["| package | version | licence |", "|---|---|---|", *rows, ""]))
    print(f"{target.name}: {len(told)} packages")


def _is_free(licence: str) -> bool:
    return bool(LICENCES.search(licence)) and not re.search(r"\bA?GPL", licence)


def _git(*arguments: str) -> str:
    return _run(["git", "-C", ROOT, *arguments]).strip()


def _run(
    command: Sequence[object], environment: dict[str, str] | None = None, cwd: Path | None = None
) -> str:
    texts = [str(part) for part in command]
    result = subprocess.run(
        texts, check=True, env=environment, cwd=cwd, text=True, capture_output=True
    )
    return result.stdout


if __name__ == "__main__":
    sys.exit(main())
