"""The options of an export."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnace.deploy.onnx.derived.variants import KINDS
from pinnace.deploy.onnx.verification.profiles import check_profile
from pinnace.deploy.program.labels import Labels
from pinnace.deploy.program.pixels import Scaling
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from pinnace.storage.atomic import refuse_device

StrPath = str | os.PathLike[str]

# ONNX Runtime 1.31 refuses 27; below 18, reductions take their axes as attributes.
OPSETS = range(18, 27)
IR_VERSIONS = range(8, 14)
REPORTS = (".json", ".md")
ENDING = ".onnx"
_ADVICE = {
    ".ort": f"a path that ends in {ENDING}, and ort=True (--ort), which writes the .ort beside it",
    ".html": f"a path that ends in {ENDING}, and web=FOLDER (--web FOLDER) for a page that runs it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The arguments of `export`, which documents them.

    Attributes:
        kind: one of `variants.KINDS`; None for float32.
        calibration: the value of `int8_static`.
    """

    path: StrPath | None
    signature: str
    opset: int
    ir_version: int
    verify: bool
    sample: Mapping[str, Any] | None
    kind: str | None
    calibration: StrPath | Mapping[str, Any] | None
    external_data: bool | None
    ort: bool
    web: StrPath | None
    web_runtime: StrPath | None
    labels: Labels | None
    normalization: Scaling | Mapping[str, Scaling] | None
    report: StrPath | None
    cut_strings: bool
    profile: str | None
    verify_timeout_s: float = 60.0
    tags: Sequence[str] | None = None
    shapes: Mapping[str, Any] | None = None
    channels_first: Sequence[str] = ()
    allow_random: bool = False

    @property
    def needs_runs(self) -> bool:
        """Whether pinnace itself must run the model."""
        return self.verify or self.kind is not None or self.ort or self.web is not None

    def check(self) -> None:
        """Refuse contradictory options before anything is done.

        Raises:
            InvalidArgumentError: an option is wrong, or two contradict each other.
            NotFoundError: the folder of the report does not exist.
            FailedPreconditionError: the report's path is a folder, or a path is a device.
        """
        for name, value, allowed in (
            ("opset", self.opset, OPSETS),
            ("ir_version", self.ir_version, IR_VERSIONS),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
                raise InvalidArgumentError(
                    f"export: {name} must be from {allowed.start} to {allowed.stop - 1}, "
                    f"got {value!r}"
                )
        check_profile(self.profile)
        if self.path is not None:
            refuse_device(Path(os.path.realpath(self.path)))
            _check_ending(os.fspath(self.path))
        seconds = self.verify_timeout_s
        if not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
            raise InvalidArgumentError(
                f"export: verify_timeout_s must be a number of seconds, got {seconds!r}"
            )
        if self.ort and self.path is None:
            raise InvalidArgumentError("export: ort=True writes a file beside `path`; path is None")
        if self.allow_random and (self.kind is not None or self.ort or self.web is not None):
            raise InvalidArgumentError(
                "export: allow_random needs float32 in an ONNX file only: other forms are "
                "compared with it, number by number"
            )
        self._check_page()
        if self.external_data and self.path is None:
            raise InvalidArgumentError(
                "export: external_data=True writes a file beside `path`; path is None"
            )
        if self.report is not None:
            self._check_report(Path(self.report))

    def _check_page(self) -> None:
        if self.web is None and (self.labels is not None or self.normalization is not None):
            raise InvalidArgumentError(
                "export: labels and normalization need a page (web=FOLDER), as an ONNX file has no "
                "place for them"
            )

    def _check_report(self, place: Path) -> None:
        if place.suffix not in REPORTS:
            raise InvalidArgumentError(
                f"export: a report must end in {' or '.join(REPORTS)}, the format, "
                f"got {os.fspath(place)!r}"
            )
        if not place.absolute().parent.is_dir():
            raise NotFoundError(f"export: the folder of report {os.fspath(place)!r} does not exist")
        if place.is_dir():
            raise FailedPreconditionError(
                f"export: the report {os.fspath(place)!r} is a folder, must be a file"
            )
        refuse_device(Path(os.path.realpath(place)))
        if self.path is not None and os.path.realpath(place) == os.path.realpath(self.path):
            raise InvalidArgumentError(
                f"export: model and report cannot both be written to {os.fspath(place)!r}"
            )


def _check_ending(path: str) -> None:
    """Refuse a path with a suffix other than ONNX's.

    Raises:
        InvalidArgumentError: it has another suffix.
    """
    ending = Path(path).suffix.lower()
    if ending == ENDING or Path(path).is_dir():
        return  # folders are refused when the file is written
    advice = _ADVICE.get(ending, f"a path that ends in {ENDING}")
    given = f"the ending {ending!r}" if ending else "no ending"
    raise InvalidArgumentError(
        f"export: {path!r} must end in {ENDING}, got {given}\n  Try: {advice}"
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
