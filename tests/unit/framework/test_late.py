"""Late imports: the table is complete, and every entry exists and is used."""

import ast
import importlib
from pathlib import Path

import pytest

from pinnace import late

ROOT = Path(__file__).parents[3]
FOLDERS = ("core", "saved_model", "serving", "deploy")
# These are resolved by a name that is known only at run time, such as `dtypes.cast`.
BY_NAME = {"cast", "complex", "saturate_cast"}


def uses() -> set[str]:
    """The names that the library uses from `late`."""
    return {
        node.attr
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if "import late" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "late"
    }


def test_the_table_holds_what_is_used_and_no_more() -> None:
    assert uses() | BY_NAME == {*late.TABLE, "SPEC_MODULES"}


def _place(module: str, name: str) -> str:
    inner = f"{module}.{name}"
    return inner if inner in late.TABLE.values() else f"{module}:{name}"


def test_type_checkers_are_told_the_same() -> None:
    tree = ast.parse(Path(str(late.__file__)).read_text(encoding="utf-8"))
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    told = {
        str(alias.asname): _place(f"{node.module}", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == late.TABLE


@pytest.mark.parametrize("name", sorted(late.TABLE))
def test_every_entry_leads_to_an_object(name: str) -> None:
    module, _, attribute = late.TABLE[name].partition(":")
    wanted = importlib.import_module(module)
    if attribute:
        wanted = getattr(wanted, attribute)
        assert callable(wanted)
    assert getattr(late, name) is getattr(late, name) is wanted


@pytest.mark.parametrize("name", late.SPEC_MODULES)
def test_every_module_of_specs_is_there(name: str) -> None:
    importlib.import_module(name)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(late, "nothing")  # noqa: B009 (type checkers know that it is not there)


def test_a_missing_object_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(late.TABLE, "broken", "pinnace.framework.errors:NoSuchThing")
    with pytest.raises(ImportError, match=r"pinnace\.framework\.errors has no 'NoSuchThing'"):
        getattr(late, "broken")  # noqa: B009 (type checkers know that it is not there)
