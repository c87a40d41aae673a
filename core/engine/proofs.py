"""Verification results and times of a plan's regions, kept in the cache folder for later processes.

A proof is valid for a graph's fingerprint, argument shapes, the number of threads, the processor
and the sources of machine code and tables. If all of these are the same, a process uses the regions
that agreed with the plan, and were faster, without a trial or contest of its own. Its file is
trusted by the same rule as machine code.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.engine.versions import version_of
from pinnace.framework import config
from pinnace.framework.errors import OpError
from pinnace.graph.fingerprint import fingerprint_of
from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph

# A file is a few kilobytes; a longer one is not a proof.
_MOST_BYTES = 1 << 22
# Argument shapes that are looked up once.
_MOST_KEYS = 1024
# Regions that took this much longer than the plan are not tried again.
_CLOSE = 1.25
# Sources that determine tables and machine code.
_SOURCES = ("engine", "ops", "graph")


class Proof(NamedTuple):
    """The verification of the regions of one plan for one set of argument shapes.

    Attributes:
        steady: indices of arguments that were variables whose values did not change.
        regions: for each region that agreed, the indices of its steps; empty if they were about as
            fast as the plan, which is then used.
        plan_s: seconds of a call by the plan.
        compiled_s: of one by the regions.
        made_s: seconds to find the regions and to pack their weights.
        made_by: a digest of the machine and of the source code
    """

    steady: list[int]
    regions: list[list[int]]
    plan_s: float
    compiled_s: float
    made_s: float
    made_by: str = ""

    @property
    def counts(self) -> bool:
        """Whether it was made on this machine by this code; the first check takes some 40 ms.

        It is skipped if this call does not use the proof.
        """
        return self.made_by == _maker()

    def versions(self, arrays: Sequence[Array]) -> list[int | None]:
        """The versions of the arguments that are treated as weights; None for the others."""
        steady = set(self.steady)
        return [
            version_of(array) if place in steady else None for place, array in enumerate(arrays)
        ]

    def regions_of(self, fused: Mapping[int, Region | None]) -> dict[int, Region | None] | None:
        """The regions of `fused` that agreed, by index of the step; None if one is missing."""
        places = {place for members in self.regions for place in members}
        chosen = {place: one for place, one in fused.items() if place in places}
        found = sorted(list(one.cluster.members) for one in chosen.values() if one is not None)
        return chosen if found and found == sorted(self.regions) else None


class Proofs:
    """The proofs of a plan by argument shapes, each looked up once.

    Args:
        graph: the plan's.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._found: dict[Hashable, Proof | None] = {}

    def of(self, key: Hashable) -> Proof | None:
        """The proof of an earlier process, not yet checked; None if there is none."""
        if key not in self._found:
            if len(self._found) >= _MOST_KEYS:
                self._found.clear()
            self._found[key] = find(self._graph, key)
        return self._found[key]

    def keep(self, key: Hashable, proof: Proof) -> None:
        """Store the proof of regions that have won, or gained little, for later processes."""
        # A plan that won by far may have been lucky: another process tries again.
        if proof.compiled_s <= _CLOSE * proof.plan_s:
            keep(self._graph, key, proof)


def find(graph: Graph, key: Hashable) -> Proof | None:
    """The stored proof for a plan and argument shapes; None if there is none.

    Args:
        graph: the plan's.
        key: of the shapes; see `Tiers.key_of`.
    """
    path = _path(graph, key)
    if path is None or not path.is_file():
        return None
    # Imported here: most processes find nothing, and `import pinnace` must stay light.
    import json

    from pinnace.engine.ahead.trust import RefusedError, content_of

    try:
        content = content_of(path)
    except RefusedError:
        return None
    if len(content) > _MOST_BYTES:
        return None
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        return _checked(Proof(**json.loads(content)))
    return None


def keep(graph: Graph, key: Hashable, proof: Proof) -> None:
    """Store a proof for later processes; without a writable folder nothing happens.

    Args:
        graph: the plan's.
        key: of the shapes.
        proof: what was found.
    """
    path = _path(graph, key)
    if path is None:
        return
    import json

    from pinnace.engine.ahead.trust import is_safe
    from pinnace.storage.atomic import write_file

    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_safe(path.parent) or not os.access(path.parent, os.W_OK):
        return
    content = json.dumps(proof._replace(made_by=_maker())._asdict()).encode()
    with contextlib.suppress(OpError):
        write_file(path, content)


def share() -> None:
    """Make the files readable for all users."""
    base = config.settings.cache
    if base is not None and (base / "proofs").is_dir():
        for path in (base / "proofs", *(base / "proofs").iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)


def _path(graph: Graph, key: Hashable) -> Path | None:
    settings = config.settings
    base = settings.cache
    if base is None or not settings.proofs or settings.poison:
        return None
    fingerprint = fingerprint_of(graph)
    if fingerprint is None:
        return None
    import hashlib

    facts = f"{fingerprint} {key!r} {team.size()} {settings.fusion}"
    return base / "proofs" / f"{hashlib.sha256(facts.encode()).hexdigest()[:32]}.json"


def _checked(proof: Proof) -> Proof:
    """The proof, if its fields have the right types; raises TypeError."""
    places = [proof.steady, *proof.regions]
    seconds = (proof.plan_s, proof.compiled_s, proof.made_s)
    if not all(type(place) is int for one in places for place in one):
        raise TypeError
    if not all(isinstance(one, int | float) and 0 <= one < float("inf") for one in seconds):
        raise TypeError
    if not isinstance(proof.made_by, str):
        raise TypeError
    return proof


@functools.cache
def _maker() -> str:
    """A digest of the processor and of all sources that determine regions and their times."""
    import hashlib

    from numpy import __version__ as numpy

    from pinnace.engine.codegen import kept
    from pinnace.framework.versions import VERSION

    # The library's name identifies the compiler's version and the processor.
    kernels = kept.folder()
    name = "" if kernels is None else kernels.name
    told = hashlib.sha256(f"{VERSION} {numpy} {name}".encode())
    base = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - `pathlib` takes 2 ms to import
    for folder in _SOURCES:
        for line in sorted(_files(f"{base}/{folder}", folder)):
            told.update(line.encode())
    return told.hexdigest()[:32]


def _files(folder: str, name: str) -> Iterator[str]:
    """Sources in a folder, by size and modification time: reading them takes six times longer."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path, f"{name}/{entry.name}")
            elif entry.name.endswith(".py"):
                facts: Any = entry.stat()
                yield f"{name}/{entry.name} {facts.st_size} {int(facts.st_mtime)}\n"
