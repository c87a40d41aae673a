"""Scorer: runs the rows of a part through the model into one file, which is complete or absent."""

from __future__ import annotations

import contextlib
import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pinnace.deploy.models.runners import load_runner
from pinnace.deploy.score.batches import Batches
from pinnace.deploy.score.binding import bind, parse_features
from pinnace.deploy.score.chunks import taken
from pinnace.deploy.score.formats import (
    PICTURES_FOLDER,
    TFRECORD,
    open_reader,
    open_writer,
)
from pinnace.deploy.score.reading.pictures import FILE
from pinnace.deploy.score.reading.reader import damaged, missing_kept
from pinnace.deploy.score.run_record import changed, check_model
from pinnace.deploy.score.settings import fingerprint, identities
from pinnace.deploy.score.stores import open_output
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.storage.system_errors import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

    from pinnace.deploy.score.binding import Binding
    from pinnace.deploy.score.chunks import Chunk
    from pinnace.deploy.score.parts import Part
    from pinnace.deploy.score.reading.reader import Reader
    from pinnace.deploy.score.settings import ScoreSettings
    from pinnace.deploy.score.staging import Staged
    from pinnace.deploy.score.stores import Output
    from pinnace.deploy.score.writing.writer import Writer

# Chunks hold whole batches, so that batches do not depend on how a file is read.
_CHUNK_ROWS = 4096
# If this many first rows are all bad, the file does not belong to this model.
_HOPELESS = 1000


@dataclass(frozen=True, slots=True)
class PartResult:
    """The outcome of a part.

    Attributes:
        target: the name of its file of results.
        rows: the number of rows with results.
        bad: the number of rows without results, which are in a file of their own.
        error: why the part has no file of results; None if it has one.
    """

    target: str
    rows: int = 0
    bad: int = 0
    error: str | None = None


class Scorer:
    """A loaded model, and the place of its results.

    Args:
        settings: the run's settings.

    Raises:
        OpError: the model cannot be loaded, or does not take rows; or the output is not a folder.
    """

    def __init__(self, settings: ScoreSettings) -> None:
        settings.check()
        self._settings = settings
        self._runner = load_runner(
            Path(settings.model),
            settings.signature,
            list(settings.tags) or None,
            allow_io=settings.allow_io,
        )
        self._batches = Batches(
            self._runner, settings.outputs, settings.batch_size, finite=settings.finite
        )
        self._features = parse_features(
            settings.features, list(self._batches.specs), self._runner.path
        )
        twice = [name for name in settings.keep if name in self._batches.outputs]
        if twice:
            raise InvalidArgumentError(
                f"--keep: {twice[0]!r} is also an output of the model\n  Try: --outputs with others"
            )
        self._output: Output = open_output(settings.output)
        # Each process loads the model itself, some of them later than others.
        self._identities = identities(self._runner.path)
        check_model(self._output, settings.model, fingerprint(self._runner.path))

    def score(self, part: Part, report: Callable[[int], object] = lambda _: None) -> PartResult:
        """Score a part; its file of results appears complete or not at all.

        Args:
            part: a part from `list_parts`.
            report: called from time to time with the number of rows that are done.

        Returns:
            The result; if the source cannot be read, it holds the error.

        Raises:
            OpError: results cannot be written, or the model cannot run.
        """
        try:
            return self._score(part, report)
        except _UnreadableError as error:
            return PartResult(part.target, error=str(error))

    def _score(self, part: Part, report: Callable[[int], object]) -> PartResult:
        specs = self._batches.specs
        is_single = len(specs) == 1
        spec = next(iter(specs.values())) if is_single else None
        with contextlib.ExitStack() as stack:
            with _reading(part):
                raw = part.source.format == TFRECORD and self._takes_records()
                reader = stack.enter_context(
                    open_reader(part.source, spec=spec, raw=raw, scale=self._settings.image_scale)
                )
                names = reader.columns()
                kept = self._kept(part, names)
                binding = bind(specs, self._features, names, part.source.shown)
            staged = _create_staged(self._output, part.target, stack)
            sink = _Sink(staged.file, f"{self._output.shown}/{part.target}")
            file = cast("IO[bytes]", sink)
            writer = open_writer(part.format, file, kept, reader, self._batches.outputs)
            stack.callback(writer.abandon)
            troubles = _Troubles(self._output, part, stack)
            rows = 0
            for chunk in self._chunks(reader, part, binding, kept):
                rows += self._score_chunk(chunk, binding, writer, troubles, report)
                troubles.give_up_if_hopeless(rows)
            with troubles.explaining():
                writer.close()
            self._check_unchanged()
            troubles.publish()
            self._output.publish(staged, part.target)
        return PartResult(part.target, rows, troubles.count)

    def _check_unchanged(self) -> None:
        """Refuse the results if the model's files changed, as ONNX Runtime maps large weights.

        Other files were read completely at the beginning.
        """
        is_mapped = self._runner.path.suffix == ".onnx"
        if is_mapped and identities(self._runner.path) != self._identities:
            raise changed(self._settings.model)

    def _takes_records(self) -> bool:
        """Whether the model parses Examples itself: its only input is a string per row."""
        specs = list(self._batches.specs.values())
        return (
            len(specs) == 1
            and specs[0].dtype is dtypes.string
            and not specs[0].sizes
            and not self._features
        )

    def _kept(self, part: Part, names: Sequence[str] | None) -> list[str]:
        """The columns that are copied to the results; for images always the file's name."""
        known = [FILE] if part.source.format == PICTURES_FOLDER else names
        for name in self._settings.keep:
            if name not in (known or ()):
                raise missing_kept(part.source.shown, name, known)
        if part.source.format == PICTURES_FOLDER:
            return [FILE]
        return list(dict.fromkeys(self._settings.keep))

    def _chunks(
        self, reader: Reader, part: Part, binding: Binding, kept: list[str]
    ) -> Iterator[Chunk]:
        size = self._batches.size
        # Chunks are large if rows are small.
        many = max(1, _CHUNK_ROWS // size) if size >= 64 else 1
        rows = reader.chunks(part.begin, part.stop, binding.names, kept, size * many)
        while True:
            with _reading(part):
                chunk = next(rows, None)
            if chunk is None:
                return
            yield chunk

    def _score_chunk(
        self,
        chunk: Chunk,
        binding: Binding,
        writer: Writer,
        troubles: _Troubles,
        report: Callable[[int], object],
    ) -> int:
        """Score a chunk; return the number of rows with results."""
        feeds, bad = binding.feeds(chunk)
        done = 0
        for first in range(0, chunk.count, self._batches.size):
            batch = range(first, min(first + self._batches.size, chunk.count))
            places = [place for place in batch if place not in bad]
            if places:
                places, outputs, refused = self._batches.run(feeds, places)
                bad.update(refused)
            if places:
                kept = {name: taken(values, places) for name, values in chunk.kept.items()}
                with troubles.explaining():
                    writer.write(len(places), kept, outputs)
                troubles.first_good = min(troubles.first_good, chunk.first + places[0])
            for place in batch:
                if place in bad:
                    troubles.add(chunk.first + place, bad[place])
            done += len(places)
            report(len(batch))
        return done


def _create_staged(output: Output, name: str, stack: contextlib.ExitStack) -> Staged:
    """A new file, which is removed when the stack is closed unless it was published.

    `enter_context` would register it only after its creation.
    """
    staged = output.stage(name)
    stack.push(staged)
    staged.create()
    return staged


class _UnreadableError(Exception):
    """The source of a part cannot be read; other parts may be fine."""


@contextlib.contextmanager
def _reading(part: Part) -> Iterator[None]:
    """A block that reads the source: its errors concern this part only."""
    try:
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            damaged(part.source.shown, error)
        except OSError as error:
            if isinstance(error, OpError):
                raise
            raise explain(error, "read", part.source.shown) from error
    except OpError as error:
        raise _UnreadableError(str(error)) from error


class _Troubles:
    """The file of rows of a part without results, with the reasons."""

    def __init__(self, output: Output, part: Part, stack: contextlib.ExitStack) -> None:
        self._output = output
        self._part = part
        self._stack = stack
        self._staged: Staged | None = None
        self._first: tuple[int, str] = (0, "")
        self.count = 0
        self.first_good: float = float("inf")

    def add(self, row: int, reason: str) -> None:
        """Add a row and its reason."""
        if self._staged is None:
            self._staged = _create_staged(self._output, self._part.bad, self._stack)
            self._first = (row, reason)
        line = json.dumps({"row": row, "reason": reason}, ensure_ascii=False) + "\n"
        with _writing(f"{self._output.shown}/{self._part.bad}"):
            self._staged.file.write(line.encode("utf-8", "replace"))
        self.count += 1

    def give_up_if_hopeless(self, rows: int) -> None:
        """Raise an error if the first thousand rows are all bad: the file does not fit the model.

        The check counts rows, so that it does not depend on the batch size.
        """
        begun = self._part.begin.row
        if rows + self.count >= _HOPELESS and self.first_good >= begun + _HOPELESS:
            row, reason = self._first
            raise _UnreadableError(
                f"{self._part.shown}: its first {_HOPELESS} rows are all bad; row {row}: {reason}"
            )

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """A block that writes rows; errors about values name the source."""
        try:
            yield
        except InvalidArgumentError as error:
            raise _UnreadableError(f"{self._part.shown}: {error}") from error

    def publish(self) -> None:
        """Publish the file before that of the results, which marks the part as done."""
        if self._staged is None:
            self._output.remove(self._part.bad)
        else:
            self._output.publish(self._staged, self._part.bad)


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, OpError):
            raise
        raise explain(
            error, "write", path, "what is done is kept; the same command goes on from there"
        ) from error


class _Sink:
    """The file of results for writers; OSErrors become errors of this library."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file = file
        self._path = path

    def write(self, data: Any) -> int:
        with _writing(self._path):
            return self._file.write(data)

    def flush(self) -> None:
        with _writing(self._path):
            self._file.flush()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        """Do nothing: the owner of the staged file closes it."""

    closed = False
    mode = "wb"

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False
