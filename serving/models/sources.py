"""The sources of a model's versions: local folders, or a URL."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pinnace.serving.models.version_files import links_within
from pinnace.serving.models.versions import find_versions, take_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

# At least two letters, since `c:/models` is a path.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)(?:::|://)")


class VersionLocation(Protocol):
    """The location of one version."""

    def fingerprint(self) -> tuple[object, ...]:
        """A fingerprint that changes when the version's files are replaced."""

    def fetched(self) -> AbstractContextManager[Path]:
        """A context with its local folder or file, valid at least within it.

        Raises:
            OpError: the version cannot be downloaded.
        """


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """A folder or file of this machine.

    Attributes:
        path: its path.
        base: the model's folder, below which its files lie.
    """

    path: Path
    base: Path

    def fingerprint(self) -> tuple[object, ...]:
        """A fingerprint that changes with the version's files: their sizes and times."""
        return take_fingerprint(self.path)

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """The path."""
        with links_within(self.base):
            yield self.path


def is_remote(base_path: str) -> bool:
    """Whether models at this path are downloaded: it is a URL of any scheme except `file`."""
    match = _URL.match(base_path)
    return match is not None and match[1].lower() not in ("file", "local")


def find_places(base_path: str) -> Mapping[int, VersionLocation]:
    """Find the versions of a model, by number.

    Args:
        base_path: a folder of numbered folders, or a SavedModel or ONNX file, which is its own
            version 1; on this machine or at a URL.

    Raises:
        NotFoundError: the folder does not exist.
        UnavailableError: the store does not respond now.
        OpError: the URL's scheme has no handler.
    """
    if is_remote(base_path):
        from pinnace.serving.models.remote import find_remote_versions  # late: an extra

        return find_remote_versions(base_path)
    match = _URL.match(base_path)
    local = base_path[match.end() :] if match is not None else base_path
    return {
        version: LocalPlace(path, Path(local)) for version, path in find_versions(local).items()
    }
