"""`make quick`: lint, types and tests of changed files, within a minute and a half.

Changed files are git's differences from a commit: `--since`, else uncommitted ones, else those of
the last commit. The tests are those of the changed files' folders, those that name a definition in
a file, and those that import it or a module that does; nearest first, as many as fit in the time.
The number of skipped tests is printed: `make test` runs all.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import house

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
SECONDS = 90.0
# Of these, for what is still running when the time is over, and for the end of pytest.
SPARED = 14.0
# A name that more files of tests have says nothing.
COMMON = 8
_DEFINED = re.compile(r"^(?:def|class) ([A-Za-z]\w{3,})", re.MULTILINE)
_OPS = re.compile(r"\(\s*\"([A-Z]\w+)\"")  # of a definition, or of a case
_NEAREST, _NAMED, _FOLDER, _IMPORTS = range(4)


def main() -> int:
    """Run the checks; the worst exit code of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", help="a commit to compare with")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="in all (%(default)g)")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="processes for tests")
    parser.add_argument("--list", action="store_true", help="the tests, nearest first, and no run")
    options = parser.parse_args()
    began = time.time()
    changed = changes(options.since)
    tests = tests_of(changed)
    if options.list:
        sys.stdout.writelines(f"{test}\n" for test in tests)
        return 0
    print(f"{len(changed)} files changed; {len(tests)} files of tests, nearest first", flush=True)
    python = [str(ROOT / file) for file in changed if file.endswith(".py") and _is_there(file)]
    codes = []
    if python:
        ruff = [sys.executable, "-m", "ruff"]
        codes.append(_run("lint", *ruff, "check", "--quiet", "--force-exclude", *python))
        codes.append(_run("format", *ruff, "format", "--quiet", "--check", *python))
    types = _types(changed)
    until = began + options.seconds - SPARED
    if ops := ops_of(changed):
        claims = ["tests/unit/ops/test_claims.py", "-k", " or ".join(ops)]
        codes.append(_pytest("claims", claims, until, options.jobs))
    if tests:
        codes.append(_pytest("tests", tests, until, options.jobs))
    if types is not None:
        said, _ = types.communicate()
        print(said.decode().strip() if types.returncode else "types: ok")
        codes.append(types.returncode)
    print(f"{time.time() - began:.0f} s")
    return max(codes, default=0)


def changes(since: str | None) -> list[str]:
    """The paths of files that differ from a commit, or are new."""
    found = _git("diff", "--name-only", since or "HEAD").splitlines()
    found += _git("ls-files", "--others", "--exclude-standard").splitlines()
    if not found and since is None:
        found = _git("diff", "--name-only", "HEAD~1").splitlines()
    return sorted(set(found))


def tests_of(changed: Iterable[str]) -> list[str]:
    """Files of tests, nearest first."""
    modules = house.sources(ROOT)
    names = {file.relative_to(ROOT).as_posix(): name for name, file in modules.items()}
    texts = {file: file.read_text() for file in TESTS.rglob("test_*.py")}
    distances: dict[Path, int] = {}

    def put(tests: Iterable[Path], distance: int) -> None:
        for test in tests:
            distances[test] = min(distance, distances.get(test, distance))

    files = [ROOT / path for path in changed if _is_there(path)]
    put((file for file in files if file in texts), _NEAREST)
    own = [file for file in files if file.relative_to(ROOT).as_posix() in names]
    for file in own:
        folder = TESTS / "unit" / _place(file.relative_to(ROOT)).parent
        beside = [test for test in texts if test.parent == folder]
        put((test for test in beside if _is_of(test, file)), _NEAREST)
        put(beside, _FOLDER)
    put(
        _naming({name for file in own for name in _DEFINED.findall(file.read_text())}, texts),
        _NAMED,
    )
    if own:
        put(sorted((TESTS / "architecture").glob("test_*.py")), _IMPORTS)
        graph = house.edges_of(ROOT)
        steps = _dependents({names[file.relative_to(ROOT).as_posix()] for file in own}, graph, 2)
        for test, text in texts.items():
            for module in _imported(text) & steps.keys():
                put([test], _IMPORTS + steps[module] if steps[module] else _NAMED)
    ordered = sorted(distances, key=lambda test: (distances[test], test))
    return [test.relative_to(ROOT).as_posix() for test in ordered]


def _is_of(test: Path, file: Path) -> bool:
    """Whether a test has the name of a file, or of a part of it."""
    return file.stem in test.stem or test.stem.removeprefix("test_") in file.stem


def _imported(text: str) -> set[str]:
    """The modules of the library that a test imports."""
    found = set(re.findall(r"^\s*(?:import|from) (pinnace[\w.]*)", text, re.MULTILINE))
    for module, listed in _FROM.findall(text):
        found.update(f"{module}.{name}" for name in re.findall(r"\w+", listed))
    return found


_FROM = re.compile(r"^\s*from (pinnace[\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)


def ops_of(changed: Iterable[str]) -> list[str]:
    """The ops that changed files define: every case of theirs is drawn."""
    files = [ROOT / path for path in changed if path.startswith(("core/ops/", "tests/cases/"))]
    return sorted({op for file in files if file.exists() for op in _OPS.findall(file.read_text())})


def _place(path: Path) -> Path:
    """The path of a module in the package, and of its tests below tests/unit."""
    return Path(*path.parts[1:]) if path.parts[0] == "core" else path


def _naming(names: set[str], texts: dict[Path, str]) -> list[Path]:
    """The tests that name a function or a class, if not most do."""
    found: dict[str, list[Path]] = defaultdict(list)
    for test, text in texts.items():
        for name in names.intersection(re.findall(r"\w+", text)):
            found[name].append(test)
    return [test for tests in found.values() if len(tests) <= COMMON for test in tests]


def _dependents(modules: set[str], graph: Mapping[str, set[str]], most: int) -> dict[str, int]:
    """Modules that import some, these included, and over how many others."""
    found = dict.fromkeys(modules, 0)
    last = modules
    for steps in range(1, most + 1):
        last = {name for name, used in graph.items() if used & last} - found.keys()
        found.update(dict.fromkeys(last, steps))
    return found


def _types(changed: Iterable[str]) -> "subprocess.Popen[bytes] | None":
    """mypy over the changed modules, under their import names, beside the tests."""
    wanted = [
        f"build/links/pinnace/{_place(Path(path))}"
        for path in changed
        if path.endswith(".py")
        and path.split("/")[0] in {"core", "saved_model", "serving", "deploy"}
        and _is_there(path)
    ]
    if not wanted:
        return None
    command = [sys.executable, "-m", "mypy", *wanted]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _pytest(what: str, arguments: list[str], until: float, jobs: str) -> int:
    environment = {**os.environ, "PINNACE_TESTS_UNTIL": str(until), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--no-header", *arguments]
    code = _run(what, *command, environment=environment)
    return 0 if code == 5 else code  # nothing was chosen


def _run(what: str, *command: str, environment: dict[str, str] | None = None) -> int:
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    print(f"{what}: {'ok' if code in {0, 5} else f'exit code {code}'}", flush=True)
    return code


def _is_there(path: str) -> bool:
    return (ROOT / path).is_file()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
