"""The README's program and one for each page of the guide run, and pass type checks.

They are checked like a user's programs: against the package under its import name, in strict mode,
and without ignores. `make typed` asks mypy and pyright; the fast tests run the programs.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINKS = ROOT / "build" / "links"
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
TYPOS = HERE / "typos.py"


def readme_program() -> str:
    """The first program of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def mypy(*files: Path, folder: Path) -> dict[tuple[str, int], str]:
    """mypy's errors: file name and line -> message."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--namespace-packages"]
    command += ["--explicit-package-bases", "--follow-imports=silent", "--ignore-missing-imports"]
    command += ["--cache-dir", str(ROOT / ".cache" / "mypy-typed"), "--no-error-summary"]
    done = subprocess.run(
        [*command, "--no-pretty", *map(str, files)],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(LINKS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    matches = re.findall(r"^(.*?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert done.returncode == bool(matches), done.stdout + done.stderr
    return {(Path(name).name, int(line)): text for name, line, text in matches}


def pyright(*files: Path, folder: Path) -> dict[tuple[str, int], str]:
    """pyright's errors: file name and line -> message."""
    settings = {
        "include": [file.name for file in files],
        "extraPaths": [str(LINKS)],
        "pythonVersion": "3.11",
        "typeCheckingMode": "standard",
    }
    for file in files:
        if file.parent != folder:
            (folder / file.name).write_bytes(file.read_bytes())
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [os.environ["PINNACE_PYRIGHT"], "--outputjson", "--pythonpath", sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(files), done.stdout
    return {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1): one["message"]
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    }


def test_each_page_of_the_guide_has_a_program() -> None:
    pages = {f"guide_{page.stem}" for page in (ROOT / "docs" / "guide").glob("*.md")}
    assert pages == {program.stem for program in PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_the_program_of_a_page_runs(program: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.typed
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_accept_the_programs(checker: object, tmp_path: Path) -> None:
    readme = tmp_path / "readme.py"
    readme.write_text(readme_program())
    assert callable(checker)
    assert checker(readme, *PROGRAMS, folder=tmp_path) == {}


@pytest.mark.typed
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_catch_each_slip_and_nothing_else(checker: object, tmp_path: Path) -> None:
    slips = {n for n, line in enumerate(TYPOS.read_text().splitlines(), 1) if "# slip" in line}
    assert callable(checker)
    assert {line for _, line in checker(TYPOS, folder=tmp_path)} == slips


def test_no_program_asks_a_checker_to_look_away() -> None:
    for program in (*PROGRAMS, TYPOS):
        assert not re.search(r"type: ignore|pyright: ignore|# noqa", program.read_text()), program
