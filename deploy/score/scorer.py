"""The heart: the rows of one part through the model into one file, which is whole or not there."""

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

# Rows of a chunk are whole batches, so that these are the same however a file is read.
_CHUNK_ROWS = 4096
# So many first rows, all bad, mean that the file is not for this model.
_HOPELESS = 1000


@dataclass(frozen=True, slots=True)
class PartResult:
    """The outcome of a part.

    Attributes:
        target: name of its file of results.
        rows: how many have results.
        bad: how many have none, and stand in a file of their own.
        error: why there is no file at all; None if there is one.
    """

    target: str
    rows: int = 0
    bad: int = 0
    error: str | None = None


class Scorer:
    """A loaded model and where its results go.

    Args:
        settings: of the run.

    Raises:
        OpError: the model cannot be loaded, or does not take rows; the output is no folder.
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
        # Each process loads by itself, and some begin late.
        self._identities = identities(self._runner.path)
        check_model(self._output, settings.model, fingerprint(self._runner.path))

    def score(self, part: Part, report: Callable[[int], object] = lambda _: None) -> PartResult:
        """Score a part: its file of results appears whole, or not at all.

        Args:
            part: from `list_parts`.
            report: told how many rows are done, now and then.

        Returns:
            What became of it; a source that cannot be read is an error in it.

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
        """Refuse results of a model whose files changed: ONNX Runtime maps large weights.

        All others were read whole.
        """
        is_mapped = self._runner.path.suffix == ".onnx"
        if is_mapped and identities(self._runner.path) != self._identities:
            raise changed(self._settings.model)

    def _takes_records(self) -> bool:
        """Whether the model parses Examples by itself: its one input is a string for each row."""
        specs = list(self._batches.specs.values())
        return (
            len(specs) == 1
            and specs[0].dtype is dtypes.string
            and not specs[0].sizes
            and not self._features
        )

    def _kept(self, part: Part, names: Sequence[str] | None) -> list[str]:
        """The columns that are carried over; of pictures always the name of the file."""
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
        # Batches are large where rows are small.
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
        """The number of rows that have results now."""
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
    """A new file, which goes when the block of the stack is left, if it was not published.

    `enter_context` would tell the stack of it only once it is there.
    """
    staged = output.stage(name)
    stack.push(staged)
    staged.create()
    return staged


class _UnreadableError(Exception):
    """The source of a part cannot be read; others may."""


@contextlib.contextmanager
def _reading(part: Part) -> Iterator[None]:
    """A block that reads the source: what it raises is about that alone."""
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
    """The rows of a part that have no results: a file of their own, with the reasons."""

    def __init__(self, output: Output, part: Part, stack: contextlib.ExitStack) -> None:
        self._output = output
        self._part = part
        self._stack = stack
        self._staged: Staged | None = None
        self._first: tuple[int, str] = (0, "")
        self.count = 0
        self.first_good: float = float("inf")

    def add(self, row: int, reason: str) -> None:
        """A row, and why it has no result."""
        if self._staged is None:
            self._staged = _create_staged(self._output, self._part.bad, self._stack)
            self._first = (row, reason)
        line = json.dumps({"row": row, "reason": reason}, ensure_ascii=False) + "\n"
        with _writing(f"{self._output.shown}/{self._part.bad}"):
            self._staged.file.write(line.encode("utf-8", "replace"))
        self.count += 1

    def give_up_if_hopeless(self, rows: int) -> None:
        """Stop where a file is not for this model: its first thousand rows are bad.

        It is asked by numbers of rows, so that the size of batches does not decide.
        """
        begun = self._part.begin.row
        if rows + self.count >= _HOPELESS and self.first_good >= begun + _HOPELESS:
            row, reason = self._first
            raise _UnreadableError(
                f"{self._part.shown}: its first {_HOPELESS} rows are all bad; row {row}: {reason}"
            )

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """A block that writes rows: of values that cannot be written it says the source."""
        try:
            yield
        except InvalidArgumentError as error:
            raise _UnreadableError(f"{self._part.shown}: {error}") from error

    def publish(self) -> None:
        """Put the file there, before that of the results: what has those is done."""
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
    """The file of results for those who write it; the system's errors become this library's."""

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
        """The file is closed by who staged it."""

    closed = False
    mode = "wb"

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False
