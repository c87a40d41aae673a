"""The options of an export."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.atomic import refuse_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.metadata.making import Given, Vocabulary
    from pinnace.deploy.program.labels import Labels
    from pinnace.deploy.program.pixels import Scaling

StrPath: TypeAlias = "str | os.PathLike[str]"

ENDING = ".tflite"
KINDS = ("float16", "int8", "int8_static", "int16_static")
# Kind -> the types of inputs and outputs that it allows beside float32.
WHOLE = {"int8_static": ("int8", "uint8"), "int16_static": ("int16",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The arguments of `export`, which documents them.

    Attributes:
        kind: one of KINDS; None for float32.
        calibration: the value of `int8_static` or `int16_static`.
    """

    path: StrPath | None
    signature: str | Sequence[str]
    verify: bool
    sample: Mapping[str, Any] | None
    kind: str | None
    calibration: StrPath | Mapping[str, Any] | None
    input_type: str | None = None
    output_type: str | None = None
    allow_flex: bool = False
    fused_lstm: bool = False
    verify_timeout_s: float = 60.0
    tags: Sequence[str] | None = None
    shapes: Mapping[str, Any] | None = None
    web: StrPath | None = None
    web_runtime: StrPath | None = None
    metadata: Given | bool | None = None
    labels: Labels | None = None
    vocabulary: Vocabulary | None = None
    normalization: Scaling | Mapping[str, Scaling] | None = None

    @property
    def signatures(self) -> list[str]:
        """The names of the signatures."""
        return [self.signature] if isinstance(self.signature, str) else list(self.signature)

    def check(self) -> None:
        """Refuse contradictory options before anything is done.

        Raises:
            InvalidArgumentError: an option is wrong, or two contradict each other.
            FailedPreconditionError: `path` is a device.
        """
        if self.path is not None:
            refuse_device(Path(os.path.realpath(self.path)))
            path = os.fspath(self.path)
            if Path(path).suffix.lower() != ENDING and not Path(path).is_dir():
                raise InvalidArgumentError(f"export: {path!r} must end in {ENDING}")
        seconds = self.verify_timeout_s
        if not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
            raise InvalidArgumentError(
                f"export: verify_timeout_s must be a number of seconds, got {seconds!r}"
            )
        if self.fused_lstm and self.web is not None:
            raise InvalidArgumentError(
                "export: a page cannot use fused_lstm: LiteRT.js loads no operators with "
                "state\n  Try: without it, recurrent layers are loops"
            )
        self._check_metadata()
        keys = self.signatures
        if not keys:
            raise InvalidArgumentError("export: signature must name at least one, got none")
        if len(keys) > 1 and (self.sample is not None or self.calibration is not None):
            raise InvalidArgumentError(
                "export: a sample, or examples for calibration, are for one signature, "
                f"got {len(keys)}"
            )
        self._check_types()

    def _check_types(self) -> None:
        for name, kind in (("input_type", self.input_type), ("output_type", self.output_type)):
            if kind in {None, "float32"}:
                continue
            if all(kind not in types for types in WHOLE.values()):
                raise InvalidArgumentError(
                    f"export: {name} must be float32, int8, uint8 or int16, got {kind!r}"
                )
            if kind not in WHOLE.get(str(self.kind), ()):
                wanted = "int16_static" if kind == "int16" else "int8_static"
                raise InvalidArgumentError(
                    f"export: {name}={kind!r} needs {wanted}, which calibrates the ranges"
                )

    def _check_metadata(self) -> None:
        told = self.metadata
        if not (told is None or told is False or isinstance(told, (str, os.PathLike, Mapping))):
            raise InvalidArgumentError(
                "export: metadata must be a document, the path of one as JSON, False for none, or "
                f"None, got {told!r}"
            )
        given = {
            "labels": self.labels,
            "vocabulary": self.vocabulary,
            "normalization": self.normalization,
        }
        lost = [name for name, value in given.items() if value is not None]
        if told is False and self.web is None and lost:
            raise InvalidArgumentError(
                f"export: {', '.join(lost)} belong to the metadata, which metadata=False leaves out"
            )


def one_kind(**chosen: bool) -> str | None:
    """The one precision that was chosen; None for float32.

    Raises:
        InvalidArgumentError: several were chosen.
    """
    kinds = [kind for kind in KINDS if chosen[kind]]
    if len(kinds) > 1:
        raise InvalidArgumentError(f"export: choose one precision, got {' and '.join(kinds)}")
    return kinds[0] if kinds else None
