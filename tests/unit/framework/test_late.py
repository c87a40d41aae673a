"""Late edges: the table is complete, and every entry leads somewhere."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

from pinnace import late

ROOT = Path(__file__).parents[3]
FOLDERS = ("core", "saved_model", "serving", "deploy")


def uses() -> set[str]:
    """The names given to `late.get` anywhere in the library."""
    found = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            if "late" not in source:
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "late.get":
                    assert isinstance(node.args[0], ast.Constant), f"{path}: not a literal name"
                    found.add(str(node.args[0].value))
    return found


def test_every_use_is_in_the_table() -> None:
    assert uses() <= set(late.TABLE)


@pytest.mark.parametrize("name", sorted(late.TABLE))
def test_every_entry_leads_to_an_object(name: str) -> None:
    package, attribute = late.TABLE[name].split(":")
    assert importlib.util.find_spec(package) is not None
    if not hasattr(importlib.import_module(package), attribute):
        pytest.skip(f"{package} does not define {attribute} yet")
    assert late.get(name) is late.get(name) is getattr(importlib.import_module(package), attribute)


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"must be one of .*saved_model\.save.*got 'nothing'"):
        late.get("nothing")


def test_a_missing_object_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(late.TABLE, "broken", "pinnace.framework.errors:NoSuchThing")
    with pytest.raises(ImportError, match=r"pinnace\.framework\.errors has no 'NoSuchThing'"):
        late.get("broken")
