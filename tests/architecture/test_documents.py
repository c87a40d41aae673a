"""Files, names, targets and dependencies that documents mention exist."""

import ast
import re
import tomllib

import pytest

from architecture.sources import ROOT, makefiles

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")])
CODE = re.compile(r"^```.*?^```|`[^`]+`", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page) -> None:
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text())):
        path, _, part = target.partition("#")
        if "://" in path:
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (part and part not in _anchors(file.read_text())):
            missing.append(target)
    assert missing == []


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_of_the_guide_is_on_the_map() -> None:
    linked = set(re.findall(r"\]\((guide/[^)#]+)", (ROOT / "docs" / "index.md").read_text()))
    assert linked == {f"guide/{page.name}" for page in (ROOT / "docs" / "guide").glob("*.md")}


def test_every_target_that_documents_name_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", makefiles(), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for target in re.findall(r"(?:`|^    )make ([a-z0-9-]+)", page.read_text(), re.MULTILINE)
    }
    assert named
    assert named <= targets


def test_readme_has_a_row_for_every_dependency() -> None:
    table = README.split("## Dependencies")[1].split("\n## ")[0]
    said = set(re.findall(r"[\w-]+", " ".join(re.findall(r"^\| (.+?) \|", table, re.MULTILINE))))
    needed = list(PROJECT["dependencies"])
    for extra, libraries in PROJECT["optional-dependencies"].items():
        if extra != "dev" and libraries:
            needed += libraries
            assert f"(extra `{extra}`" in table
    assert {re.match(r"[\w-]+", line).group() for line in needed} <= said


def test_extras_that_documents_name_exist() -> None:
    lists = [found for page in PAGES for found in re.findall(r"'\.\[([\w,]+)\]'", page.read_text())]
    named = {name for found in lists for name in found.split(",")}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(("page", "least"), [("architecture.md", 50), ("extending.md", 0)])
def test_every_place_on_the_map_is_there(page: str, least: int) -> None:
    """`folder/`, `folder/file.py` and `folder/file.py::Class.method` of a page."""
    text = (ROOT / "docs" / page).read_text()
    places = re.findall(r"`((?:\w+/)+(?:\w+\.py)?(?:::[\w.]+)?)`", text)
    assert len([place for place in places if "::" in place]) >= least
    gone = [place for place in places if not _is_there(*place.partition("::")[::2])]
    assert not gone, f"{page} names {gone}"


def _is_there(path: str, name: str) -> bool:
    if not name:
        return (ROOT / path).exists()
    if not (ROOT / path).is_file():
        return False
    body = ast.parse((ROOT / path).read_bytes()).body
    for part in name.split("."):
        found = [node for node in body if getattr(node, "name", None) == part]
        if not found:
            return False
        body = getattr(found[-1], "body", [])
    return True
