"""Folders of images: one row per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.models.pictures import SCALES, read_picture
from pinnace.deploy.score.chunks import UNNAMED, Chunk
from pinnace.deploy.score.reading.reader import RowPosition, evenly
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO, Any

    from pinnace.deploy.score.fitting import RowSpec

FILE = "file"


class PictureReader:
    """Images as rows; the column `file` holds their names.

    Args:
        files: name and location of each image of the part, in order.
        spec: the row spec of the model's input.
        scale: the scaling for float inputs, a key of `SCALES`.
        open_file: opens a location.
    """

    def __init__(
        self,
        files: Sequence[tuple[str, str]],
        spec: RowSpec,
        scale: str,
        open_file: Callable[[str], IO[bytes]],
    ) -> None:
        self._files = list(files)
        self._spec = TensorSpec.of(Shape(spec.sizes), spec.dtype)
        self._scale = SCALES[scale]
        self._open = open_file

    def columns(self) -> None:
        """Return None: images have no column names."""

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`."""
        return evenly(len(self._files), rows)

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """See `Reader.chunks`; the reader was opened with the files of one part only."""
        del wanted, stop
        for first in range(0, len(self._files), rows):
            some = self._files[first : first + rows]
            values: list[Any] = []
            bad: dict[int, str] = {}
            for place, (name, path) in enumerate(some):
                try:
                    values.append(self._read(name, path))
                except InvalidArgumentError as error:
                    values.append(None)
                    bad[place] = str(error)
            yield Chunk(
                begin.row + first,
                len(some),
                {UNNAMED: values},
                {FILE: [name for name, _ in some]} if FILE in kept else {},
                bad,
            )

    def _read(self, name: str, path: str) -> Any:
        try:
            with self._open(path) as file:
                data = file.read()
        except OpError as error:
            raise InvalidArgumentError(str(error)) from None
        if self._spec.dtype is dtypes.string:
            return data
        return read_picture(name, data, self._spec, self._scale)
