"""The reasons why a SavedModel cannot be loaded or run here, found without loading it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.saved_model.readiness import readiness_of
from pinnace.saved_model.reading import read_messages

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.deploy.cli.findings import Findings


def add_readiness(found: Findings, folder: Path) -> None:
    """Add the messages of loading and running, for each graph."""
    for meta in read_messages(folder).meta_graphs:
        readiness = readiness_of(folder, meta)
        if readiness.error:
            found.add(
                "low", "cannot be loaded here", "This is what loading it says.", readiness.error
            )
        for signature in readiness.unready:
            for problem in signature.problems:
                found.add(
                    "low",
                    "signatures that cannot run here",
                    "Loading succeeds; calling them does not, or not with every input.",
                    f"{signature.name}: {problem}",
                )
