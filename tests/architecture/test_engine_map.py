"""The map of the engine names each of its files exactly once, and no other files."""

import re
from collections import Counter

from architecture.sources import ROOT

FOLDER = ROOT / "core" / "engine"


def test_the_map_of_the_engine_has_every_file_once() -> None:
    page = (ROOT / "docs" / "engine.md").read_text()
    named = Counter(re.findall(r"`((?:\w+/)?\w+\.py)`", page))
    files = {
        file.relative_to(FOLDER).as_posix()
        for file in FOLDER.rglob("*.py")
        if file.name != "__init__.py"
    }
    assert named.keys() - files == set(), "these are not there"
    assert files - named.keys() == set(), "say where these stand on the way to machine code"
    assert [name for name, times in named.items() if times > 1] == []
