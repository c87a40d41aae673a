"""What the Makefile's targets run is what they say."""

import re

from architecture.sources import ROOT

RECIPES = re.sub(r"\\\\\n\s*", " ", (ROOT / "Makefile").read_text())


def test_targets_that_name_tests_run_the_slow_ones_too() -> None:
    """Without `-m` pytest leaves out what tests/slow.txt lists: `make crash` once ran nothing."""
    named = [line for line in RECIPES.splitlines() if re.search(r"bin/pytest .*tests/\w", line)]
    assert len(named) >= 10
    assert not [line for line in named if " -m " not in line]
