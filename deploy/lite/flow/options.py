"""The options of an export."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.atomic import refuse_device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

StrPath: TypeAlias = "str | os.PathLike[str]"

ENDING = ".tflite"
KINDS = ("float16", "int8", "int8_static")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The arguments of `export`, which explains them.

    Attributes:
        kind: of KINDS, None for float32.
        calibration: what `int8_static` was.
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
    verify_timeout_s: float = 60.0
    tags: Sequence[str] | None = None
    shapes: Mapping[str, Any] | None = None

    @property
    def signatures(self) -> list[str]:
        """The keys of the signatures."""
        return [self.signature] if isinstance(self.signature, str) else list(self.signature)

    def check(self) -> None:
        """Refuse contradictory options before any work is done.

        Raises:
            InvalidArgumentError: an option is wrong, or two do not fit.
            FailedPreconditionError: the place of the file is a device.
        """
        if self.path is not None:
            refuse_device(Path(os.path.realpath(self.path)))
            path = os.fspath(self.path)
            if Path(path).suffix.lower() != ENDING and not Path(path).is_dir():
                raise InvalidArgumentError(
                    f"export: {path!r} must end in {ENDING}, the format that is written"
                )
        seconds = self.verify_timeout_s
        if not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
            raise InvalidArgumentError(
                f"export: verify_timeout_s must be a number of seconds, got {seconds!r}"
            )
        keys = self.signatures
        if not keys:
            raise InvalidArgumentError("export: no signature was named")
        if len(keys) > 1 and (self.sample is not None or self.calibration is not None):
            raise InvalidArgumentError(
                "export: a sample, or examples to find ranges with, are for one signature, "
                f"got {len(keys)}"
            )
        for name, kind in (("input_type", self.input_type), ("output_type", self.output_type)):
            if kind not in {None, "float32", "int8", "uint8"}:
                raise InvalidArgumentError(
                    f"export: {name} must be float32, int8 or uint8, got {kind!r}"
                )
            if kind not in {None, "float32"} and self.kind != "int8_static":
                raise InvalidArgumentError(
                    f"export: {name}={kind!r} goes with int8_static, which finds the ranges"
                )


def one_kind(**chosen: bool) -> str | None:
    """The one precision that was chosen; None for float32.

    Raises:
        InvalidArgumentError: there are several.
    """
    kinds = [kind for kind in KINDS if chosen[kind]]
    if len(kinds) > 1:
        raise InvalidArgumentError(f"export: a file has one precision; got {' and '.join(kinds)}")
    return kinds[0] if kinds else None
