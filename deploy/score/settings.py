"""The settings of a scoring run, and those that determine the results."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pinnace.deploy.models.finding import find_model
from pinnace.deploy.models.kinds import FROZEN, KERAS, ONNX, SAVED_MODEL
from pinnace.deploy.models.pictures import SCALES
from pinnace.deploy.score.formats import INPUT_FORMATS, OUTPUT_FORMATS
from pinnace.deploy.score.stores import check_place
from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.system_errors import explained

_KINDS = (SAVED_MODEL, ONNX, FROZEN, KERAS)
_PIECE = 1 << 22


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """The settings of a scoring run.

    Attributes:
        model: the path of a SavedModel, or of a file that `pinnace run` takes.
        inputs: paths, patterns, folders and URLs of files.
        output: folder or URL for the results.
        signature: the signature's name; None for `serving_default` or the only one.
        outputs: names of the outputs to write; all if empty.
        features: columns for inputs, in the form of `--features`.
        keep: columns that are copied to the results.
        format: the format of results, one of `OUTPUT_FORMATS`; None takes that of the sources.
        input_format: one of `INPUT_FORMATS`; None derives it from the files' names.
        batch_size: rows per run of the model; None chooses it by the size of a row.
        rows_per_part: files with more rows are split into several parts; None splits none.
        finite: whether rows with NaN or infinite inputs are bad.
        image_scale: the scaling of images for float inputs, a key of `SCALES`.
        tags: the tags of the graph, if there are several.
        allow_io: whether the model's ops may access files.
    """

    model: str
    inputs: tuple[str, ...]
    output: str
    signature: str | None = None
    outputs: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    format: str | None = None
    input_format: str | None = None
    batch_size: int | None = None
    rows_per_part: int | None = None
    finite: bool = False
    image_scale: str = "255"
    tags: tuple[str, ...] = ()
    allow_io: bool = False

    def check(self) -> None:
        """Refuse invalid settings.

        Raises:
            InvalidArgumentError: a setting is invalid.
        """
        for option, value, allowed in (
            ("--format", self.format, OUTPUT_FORMATS),
            ("--input-format", self.input_format, INPUT_FORMATS),
            ("--image-scale", self.image_scale, tuple(SCALES)),
        ):
            if value is not None and value not in allowed:
                raise InvalidArgumentError(
                    f"{option} must be one of {', '.join(allowed)}, got {value!r}"
                )
        for option, count in (
            ("--batch-size", self.batch_size),
            ("--rows-per-part", self.rows_per_part),
        ):
            if count is not None and count < 1:
                raise InvalidArgumentError(f"{option} must be at least 1, got {count}")
        if not self.inputs:
            raise InvalidArgumentError("--input must name at least one file, got none")
        for place in self.inputs:
            check_place("--input", place)
        check_place("--output", self.output)

    def recorded(self) -> dict[str, Any]:
        """The settings that determine the results: runs with equal ones write equal files.

        The locations of model and data, the batch size and the distribution of the parts are not
        among them.

        Raises:
            NotFoundError: the model does not exist.
        """
        return {
            "model": fingerprint(Path(self.model)),
            "signature": self.signature,
            "outputs": list(self.outputs),
            "features": list(self.features),
            "keep": list(self.keep),
            "format": self.format,
            "input_format": self.input_format,
            "rows_per_part": self.rows_per_part,
            "finite": self.finite,
            "image_scale": self.image_scale,
            "tags": list(self.tags),
        }


def fingerprint(model: Path) -> str:
    """A digest of the names and contents of a model's files.

    Raises:
        NotFoundError: the model does not exist.
    """
    found = blake2b(digest_size=16)
    for name, file in _files_of(model):
        with explained("read", file), file.open("rb") as opened:
            found.update(f"{len(name)}:{name}:{file.stat().st_size}:".encode())
            while data := opened.read(_PIECE):
                found.update(data)
    return found.hexdigest()


def identities(model: Path) -> tuple[tuple[object, ...], ...]:
    """The identity of each of a model's files: device, inode, size and time.

    Args:
        model: the model's path.
    """
    found: list[tuple[object, ...]] = []
    with explained("look at", model):
        for name, file in _files_of(model):
            facts = file.stat()
            found.append((name, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns))
    return tuple(found)


def _files_of(model: Path) -> list[tuple[str, Path]]:
    """The files that determine a model's outputs, with their names in its folder."""
    path, _ = find_model(model, _KINDS)
    folder = path if path.is_dir() else path.parent
    # A large ONNX model has its weights in external files.
    found = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.name}*")
    named = [(one.relative_to(folder).as_posix(), one) for one in sorted(found) if one.is_file()]
    return [
        (name, one)
        for name, one in named
        if not name.startswith("assets.extra/") and name != "fingerprint.pb"
    ]
