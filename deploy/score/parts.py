"""The parts of a run: each has a source, and a file of results that exists once it is done."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pinnace.deploy.score.formats import (
    INPUT_FORMATS,
    PICTURES_FOLDER,
    open_reader,
    output_format,
    split_name,
)
from pinnace.deploy.score.reading.reader import RowPosition
from pinnace.deploy.score.stores import find_files, is_url
from pinnace.framework.errors import InvalidArgumentError, OpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pinnace.deploy.score.stores import Found

# Prefix of folders and files that readers of tables ignore.
BAD_FOLDER = "_bad"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of rows, or a folder of images.

    Attributes:
        format: one of `INPUT_FORMATS`, or pictures.
        location: its path or URL.
        files: name and location of each image.
    """

    format: str
    location: str
    files: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """Its name in messages."""
        if not is_url(self.location):
            return self.location
        from pinnace.serving.config.urls import public_url

        return public_url(self.location)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of work.

    Attributes:
        source: the source of its rows.
        target: the name of its file of results.
        format: the format of the results.
        begin: the position of its first row.
        stop: the index behind its last row; None for the end of the source.
    """

    source: Source
    target: str
    format: str
    begin: RowPosition = field(default_factory=RowPosition)
    stop: int | None = None

    @property
    def bad(self) -> str:
        """The name of the file of its bad rows, which exists if there are any."""
        return f"{BAD_FOLDER}/{self.target}.jsonl"

    @property
    def shown(self) -> str:
        """Its name in messages."""
        if self.stop is None and not self.begin.row:
            return self.source.shown
        last = "" if self.stop is None else self.stop - 1
        return f"{self.source.shown}, rows {self.begin.row} to {last}".rstrip()


def list_parts(
    patterns: Iterable[str],
    *,
    input_format: str | None = None,
    wanted: str | None = None,
    rows_per_part: int | None = None,
    is_output: Callable[[str], bool] = lambda _: False,
) -> tuple[list[Part], dict[str, str]]:
    """List the parts of all matching files, in a deterministic order.

    Args:
        patterns: paths, glob patterns, folders and URLs.
        input_format: the format of all files; None derives it from their names.
        wanted: the format of the results; None takes that of the sources.
        rows_per_part: files with more rows are split into several parts.
        is_output: whether a file is a result of a run, not data.

    Returns:
        The parts, and the reasons why files cannot be split, by their names in messages.

    Raises:
        NotFoundError: no file matches.
        InvalidArgumentError: a format is unknown, or two files would have the same results file.
    """
    parts: dict[str, Part] = {}
    problems: dict[str, str] = {}
    seen: set[str] = set()
    for pattern in patterns:
        found = [one for one in find_files(pattern) if not is_output(one.location)]
        if not found:
            raise InvalidArgumentError(
                f"--input: all files at {pattern} are in the folder of --output, and are therefore "
                "ignored as results\n  Try: another --output"
            )
        fresh = [one for one in found if one.location not in seen]
        seen.update(one.location for one in fresh)
        for name, source in _sources(fresh, input_format):
            kind = output_format(source.format, wanted)
            try:
                made = _cut(source, name, kind, rows_per_part)
            except OpError as error:
                problems[source.shown] = str(error)
                continue
            for part in made:
                if part.target in parts:
                    raise InvalidArgumentError(
                        f"--input: {parts[part.target].source.shown} and {source.shown} would both "
                        f"become {part.target}\n  Try: two runs, with an --output each"
                    )
                parts[part.target] = part
    return list(parts.values()), problems


def _sources(found: Sequence[Found], input_format: str | None) -> list[tuple[str, Source]]:
    """Each source, and the name of its results without a suffix."""
    sources: list[tuple[str, Source]] = []
    pictures: dict[str, list[Found]] = defaultdict(list)
    unknown: list[str] = []
    for one in found:
        name, kind = split_name(one.name)
        kind = input_format or kind
        if kind is None:
            unknown.append(one.location)
        elif kind == PICTURES_FOLDER:
            pictures[os.fspath(PurePosixPath(one.name).parent)].append(one)
        else:
            sources.append((name, Source(kind, one.location)))
    for folder, files in pictures.items():
        location = files[0].location.replace("\\", "/").rpartition("/")[0] or "."
        name = PurePosixPath(location).name or "pictures" if folder == "." else folder
        listed = tuple((one.name, one.location) for one in files)
        sources.append((name, Source(PICTURES_FOLDER, location, listed)))
    if unknown and not sources:
        raise InvalidArgumentError(
            f"--input: the name of {unknown[0]} does not say its format\n"
            f"  Try: --input-format, which is one of {', '.join(INPUT_FORMATS)}"
        )
    return sorted(sources, key=lambda one: one[0])


def _cut(source: Source, name: str, kind: str, rows: int | None) -> list[Part]:
    whole = Part(source, f"{name}.{kind}", kind)
    if rows is None:
        return [whole]
    if source.format == PICTURES_FOLDER:
        places = [RowPosition(row) for row in range(0, max(1, len(source.files)), rows)]
    else:
        with open_reader(source) as reader:
            places = reader.places(rows)
    count = len(places)
    parts = []
    for index, place in enumerate(places):
        last = index == count - 1
        stop = None if last else places[index + 1].row
        some = source
        if source.format == PICTURES_FOLDER:
            some = replace(source, files=source.files[place.row : stop])
        target = f"{name}-{index:05d}-of-{count:05d}.{kind}"
        parts.append(Part(some, target, kind, place, stop))
    return parts
