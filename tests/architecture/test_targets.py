"""Targets of the Makefile run what they describe, with the versions that requirements/ pins."""

import re

from architecture.sources import ROOT, makefiles

RECIPES = re.sub(r"\\\n\s*", " ", makefiles())
# `name==1.2`, `name[extra]==1.2` and npm's `@scope/name@1.2`.
PIN = re.compile(r"[\w.\[\],-]+==[\w.]+|@?[\w./-]+@[\d.]+")


def test_targets_that_name_tests_run_the_slow_ones_too() -> None:
    """Without `-m` pytest skips the tests of tests/slow.txt: `make crash` once ran nothing."""
    named = [line for line in RECIPES.splitlines() if re.search(r"bin/pytest .*tests/\w", line)]
    assert len(named) >= 10
    assert not [line for line in named if " -m " not in line]


def test_each_file_of_requirements_makes_an_environment() -> None:
    names = {file.stem for file in (ROOT / "requirements").rglob("*.txt")}
    assert len(names) >= 35
    called = re.findall(r"\$\(call (?:environment|folder|pins),([^()]+)\)", RECIPES)
    assert names - {"release"} <= set(re.split(r"[,/ ]", " ".join(called)))


def test_requirements_are_pinned_and_name_no_registry() -> None:
    files = [*(ROOT / "requirements").rglob("*.txt"), ROOT / "requirements" / "release.in"]
    for file in files:
        text = file.read_text()
        assert "://" not in text, file
        assert text.startswith("# "), f"{file} does not say what it is for"
        if file.parent.name != "debian":
            lines = re.sub(r"\\\n\s*", " ", text).splitlines()
            named = [line.split()[0] for line in lines if not line.startswith("#")]
            assert [pin for pin in named if not PIN.fullmatch(pin)] == [], file
