"""Modules that are imported when a name is missing."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from pinnace.framework.late_modules import LateModules

NAMES = ("late_a", "late_b", "late_c")


def imported() -> list[str]:
    return [name for name in NAMES if name in sys.modules]


def look(late: LateModules, name: str) -> ModuleType | None:
    return late.find(lambda: sys.modules.get(name))


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LateModules:
    """Three modules; the second one cannot be imported until the file `go` exists."""
    monkeypatch.syspath_prepend(tmp_path)
    made = LateModules()
    for name in NAMES:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # to remove it in the end
        del sys.modules[name]
        (tmp_path / f"{name}.py").touch()
        made.add(name)
    go = str(tmp_path / "go")
    (tmp_path / "late_b.py").write_text(f"from pathlib import Path\nassert Path({go!r}).exists()\n")
    return made


def test_no_more_is_imported_than_it_takes(late: LateModules) -> None:
    for _ in range(2):
        assert look(late, "late_a") is not None
        assert imported() == ["late_a"]


def test_what_failed_is_tried_again(late: LateModules, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(AssertionError):
            look(late, "late_c")
        assert imported() == ["late_a"]
    (tmp_path / "go").touch()
    assert look(late, "late_c") is not None
    assert imported() == list(NAMES)


def test_all_are_there_when_nothing_is_found(late: LateModules, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    assert look(late, "late_d") is None
    assert imported() == list(NAMES)


def test_all_are_imported_once(late: LateModules, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    late.import_all()
    assert imported() == list(NAMES)
    del sys.modules["late_a"]
    late.import_all()
    assert imported() == ["late_b", "late_c"]
