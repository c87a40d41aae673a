"""Settings of a run of scoring, and those that the results depend on."""

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
    """A run of scoring.

    Attributes:
        model: path of a SavedModel, or of a file that `pinnace run` takes.
        inputs: paths, patterns, folders and URLs of files.
        output: folder or URL for the results.
        signature: of the model; `serving_default` or the only one if None.
        outputs: of the model, that are written; all if there are none.
        features: columns for inputs, as `--features` has them.
        keep: columns that are carried over.
        format: of results, one of `OUTPUT_FORMATS`; that of the sources if None.
        input_format: one of `INPUT_FORMATS`; None reads it off the files' names.
        batch_size: rows of a run of the model; None chooses it by the size of a row.
        rows_per_part: files with more rows become several parts; None makes none.
        finite: whether NaN and infinite values in inputs are bad rows.
        image_scale: values of pictures for inputs of floats, a key of `SCALES`.
        tags: which of several graphs.
        allow_io: let the model's ops reach files.
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
        """Refuse values that no run can have.

        Raises:
            InvalidArgumentError: one is not allowed.
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
            raise InvalidArgumentError("--input is missing: which files are to be scored?")
        for place in self.inputs:
            check_place("--input", place)
        check_place("--output", self.output)

    def recorded(self) -> dict[str, Any]:
        """The settings that determine the results: two runs with the same give the same files.

        Where the model and the data are, how large batches are and who does which part is not
        among it.

        Raises:
            NotFoundError: there is no model.
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
    """A sum of a model's files: their names and contents.

    Raises:
        NotFoundError: there is no model.
    """
    found = blake2b(digest_size=16)
    for name, file in _files_of(model):
        with explained("read", file), file.open("rb") as opened:
            found.update(f"{len(name)}:{name}:{file.stat().st_size}:".encode())
            while data := opened.read(_PIECE):
                found.update(data)
    return found.hexdigest()


def identities(model: Path) -> tuple[tuple[object, ...], ...]:
    """The identity of each of a model's files: device, number, size and time.

    Args:
        model: its path.
    """
    found: list[tuple[object, ...]] = []
    with explained("look at", model):
        for name, file in _files_of(model):
            facts = file.stat()
            found.append((name, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns))
    return tuple(found)


def _files_of(model: Path) -> list[tuple[str, Path]]:
    """The files that a model's answers depend on, with their names in its folder."""
    path, _ = find_model(model, _KINDS)
    folder = path if path.is_dir() else path.parent
    # A large ONNX model has its weights in files beside it.
    found = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.name}*")
    named = [(one.relative_to(folder).as_posix(), one) for one in sorted(found) if one.is_file()]
    return [
        (name, one)
        for name, one in named
        if not name.startswith("assets.extra/") and name != "fingerprint.pb"
    ]
