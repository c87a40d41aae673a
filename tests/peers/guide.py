"""Parts of the guides that are written from a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parents[2] / "docs" / "coming_from"
COMMAND = "make peer-serving"


def hold(page: str, name: str, lines: Iterable[str], command: str = COMMAND) -> None:
    """A part of a page has these lines; they are written there if the environment says so.

    Args:
        page: of the folder.
        name: of the part.
        lines: what it says.
        command: that writes it.
    """
    path = FOLDER / page
    begin, end = f"<!-- begin: {command}, {name} -->", f"<!-- end: {command}, {name} -->"
    before, marker, rest = path.read_text().partition(begin)
    _, closing, after = rest.partition(end)
    assert marker, f"{page} has no part {name}"
    assert closing, f"the part {name} of {page} does not end"
    made = f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}"
    if os.environ.get("PINNACE_WRITE_PEER_COUNTS"):
        path.write_text(made)
    assert path.read_text() == made, f"run `{command}`"
