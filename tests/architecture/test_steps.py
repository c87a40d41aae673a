"""`.ci/run` runs the steps of the table, for every existing folder."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from architecture.sources import ROOT

RUN = (ROOT / ".ci" / "run").read_text()
# Parts of the library that only the gate tests, and which of its steps does.
GATE_ALONE = {"core/types": "types of users' programs"}


@pytest.fixture(scope="module")
def chosen() -> Any:
    tools = str(ROOT / "tools")
    sys.path.insert(0, tools)
    try:
        import chosen_steps
    finally:
        sys.path.remove(tools)
    return chosen_steps


def names(chosen: Any, touched: set[str] | None, whole: str = "") -> set[str]:
    """Names of the steps that run."""
    return {step.name for step in chosen.steps(touched, whole, False) if step.runs}


def test_each_step_of_the_run_is_in_the_table_once_and_no_other(chosen: Any) -> None:
    run = re.findall(r'^ *step "([^"]+)" ', RUN, re.MULTILINE)
    table = [name for part in ("gate", "touched", "with", "whole") for name in chosen.table()[part]]
    assert sorted(run) == sorted(table)
    assert len(set(run)) == len(run)
    for steps in chosen.table()["with"].values():
        assert set(steps) <= set(run)


def test_each_path_is_there_and_each_folder_has_a_step(chosen: Any) -> None:
    table = chosen.table()
    paths = {*table["everything"]}
    for part in ("gate", "touched", "whole"):
        paths.update(path for folders in table[part].values() for path in folders)
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    command = ["git", "-C", str(ROOT), "ls-files"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone")
    folders = {path.parts[0] for path in map(Path, listed.stdout.split("\n")) if path.parts[1:]}
    assert folders - {Path(path).parts[0] for path in paths if path != "."} == set()
    assert table["gate"]["lint"] == ["."]  # files in no folder


def test_each_part_of_the_library_has_a_step_beyond_the_gate(chosen: Any) -> None:
    gate = set(chosen.table()["gate"])
    parts = [path for folder in ("core", "deploy") for path in (ROOT / folder).iterdir()]
    alone = set()
    for part in [*filter(Path.is_dir, parts), ROOT / "saved_model", ROOT / "serving"]:
        files = {file.relative_to(ROOT).as_posix() for file in part.rglob("*.py")}
        if files and not names(chosen, files) - gate:
            alone.add(part.relative_to(ROOT).as_posix())
    assert alone == GATE_ALONE.keys()
    assert gate.issuperset(GATE_ALONE.values())


def test_a_page_needs_the_gate_alone_and_names_what_is_left_out(chosen: Any) -> None:
    steps = chosen.steps({"docs/errors.md"}, "", without_tensorflow=False)
    gate, whole = set(chosen.table()["gate"]), set(chosen.table()["whole"])
    assert {step.name for step in steps if step.runs} == gate
    assert {"test", "lint", "types"} <= gate
    left_out = [step for step in steps if not step.runs]
    assert whole < {step.name for step in left_out}
    assert all(step.reason for step in left_out)


def test_what_a_folder_needs_runs_when_it_was_touched(chosen: Any) -> None:
    serving = names(chosen, {"serving/http/app.py"})
    assert {
        "attacks on a server, short",
        "others' clients",
        "environment with TensorFlow",
    } <= serving
    assert "ops beside TensorFlow, short" not in serving
    ops = names(chosen, {"core/ops/math/arithmetic.py"})
    assert "ops beside TensorFlow, short" in ops
    assert "attacks on a server, short" not in ops


def test_all_runs_where_nothing_is_known_or_the_whole_is_wanted(chosen: Any) -> None:
    everything = {step.name for step in chosen.steps(None, "", without_tensorflow=False)}
    assert names(chosen, None) == everything - set(chosen.table()["whole"])
    assert names(chosen, {"pyproject.toml"}) == names(chosen, None)
    assert names(chosen, {"docs/errors.md"}, whole="WHOLE=1") == everything


def test_without_tensorflow_what_needs_it_is_said_to_be_left_out(chosen: Any) -> None:
    (environment, needing), *_ = chosen.table()["with"].items()
    left_out = {s.name: s.reason for s in chosen.steps(None, "WHOLE=1", True) if not s.runs}
    assert left_out.keys() == {environment, *needing}
    assert all("WITHOUT_TENSORFLOW" in reason for reason in left_out.values())


def test_importers_of_a_changed_module_count_as_touched(chosen: Any) -> None:
    touched = chosen.touched_files(["core/storage/atomic.py", "docs/errors.md"])
    assert {"core/storage/atomic.py", "docs/errors.md"} < touched
    assert any(file.startswith("saved_model/") for file in touched)
    assert chosen.touched_files(["README.md"]) == {"README.md"}


def _git(folder: Path, *arguments: str, date: str = "2026-01-07T12:00:00") -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    environment = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    command = ["git", *who, "-C", str(folder), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()


def _commit(folder: Path, date: str) -> str:
    _git(folder, "commit", "-q", "--allow-empty", "-m", "a change", date=date)
    return _git(folder, "rev-parse", "HEAD")


def test_what_a_clone_knows_decides_what_is_compared(
    chosen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "ROOT", tmp_path)
    assert chosen.base_commit(None) == (None, "this is no clone")
    _git(tmp_path, "init", "-q", "-b", "main")
    first = _commit(tmp_path, "2026-01-04T12:00:00")  # a Sunday
    assert chosen.base_commit(None)[0] is None
    second = _commit(tmp_path, "2026-01-05T12:00:00")
    assert chosen.base_commit(None) == (first, "a day before this")
    for hour in (13, 14):  # several commits pushed at once
        second = _commit(tmp_path, f"2026-01-05T{hour}:00:00")
        assert chosen.base_commit(None) == (first, "a day before this")
    _git(tmp_path, "switch", "-q", "-c", "branch")
    for day in (6, 7):
        _commit(tmp_path, f"2026-01-0{day}T12:00:00")
    assert chosen.base_commit(None) == (second, "where this left main")
    assert chosen.base_commit(first)[0] == first
    assert chosen.base_commit("0" * 40)[0] is None
    shallow = tmp_path / "shallow"
    _git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}", str(shallow))
    monkeypatch.setattr(chosen, "ROOT", shallow)
    assert chosen.base_commit(None) == (None, "the clone has no commit of yesterday")


def test_the_readme_says_how_to_run_the_tests_and_the_gate_does_it() -> None:
    assert "\n    make test " in (ROOT / "README.md").read_text()
    assert 'export VENV="$scratch/venv"' in RUN  # a fresh one
    assert 'step "test" make test\n' in RUN
