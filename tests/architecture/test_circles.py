"""No circular imports, not even inside functions.

`python tools/house.py --circles` lists the existing circles.
"""

import importlib.util
import json
from types import ModuleType

import pytest

from architecture.sources import ROOT

# Remaining circles: the folder (or file) that contains all modules -> their number, and how to
# break the circle. The list only shrinks.
KNOWN = {}
# Pairs of modules of which the lower one calls the higher one through `core/late.py`, which imports
# do not show. The number only falls: the higher file may bind a method to the class instead (ADR
# 60).
LATE_EDGES = 17


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def circles(house: ModuleType) -> list[list[str]]:
    found: list[list[str]] = house.circles_of(ROOT)
    return found


def home(component: list[str]) -> str:
    """The innermost folder (or file) below `pinnace` that contains all modules of a circle."""
    paths = [name.split(".")[1:] for name in component]
    shared: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared)


def test_there_is_no_circle_but_the_known(circles: list[list[str]]) -> None:
    new = [one for one in circles if len(one) > KNOWN.get(home(one), (0, ""))[0]]
    assert not new, f"modules that import each other: {json.dumps(new, indent=1)}"


def test_the_known_circles_are_there(circles: list[list[str]]) -> None:
    untied = set(KNOWN) - {home(component) for component in circles}
    assert not untied, f"untied: take them from the list: {sorted(untied)}"


def test_few_edges_run_up(house: ModuleType) -> None:
    edges = house.late_edges_of(ROOT)
    pairs = [f"{low} -> {high}" for low in sorted(edges) for high in sorted(edges[low])]
    assert len(pairs) == LATE_EDGES, "\n".join(pairs)


def test_a_circle_is_found_whatever_leads_into_it(house: ModuleType) -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": {"b"}, "e": {"e2"}, "e2": {"e"}}
    assert house.circles(graph) == [["b", "c", "d"], ["e", "e2"]]
    assert house.circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
