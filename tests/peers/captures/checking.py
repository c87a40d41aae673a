"""Checks a captured case: loads it here, exports it, runs ONNX Runtime, and compares."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime

import pinnace as tf
from pinnace.deploy.onnx import export

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from peers.captures.cases import Case, Feed

_MOST_S = 900  # on a shared machine
_CLOSE = 1e-5  # relative to the largest number: rounding, if a test allows less
# Another way to export, if a refusal names it, and its name in the counts.
_WAYS = (
    ("sample=", "with `sample=`"),
    ("allow_random", "by shape, with `allow_random=True`"),
    ("opset 19", "at opset 21"),
    ("opset 20", "at opset 21"),
    ("opset 21", "at opset 21"),
)


@dataclass(frozen=True)
class Verdict:
    """The result of a case.

    Attributes:
        case: its name.
        kind: "right", "close", "refused", "wrong" or "not run" by ONNX Runtime.
        way: the way in which it was exported.
        reason: the reason of a refusal or a difference.
        loaded: "" or how the loaded model differs from TensorFlow.
        sizes: changed inputs -> "same", "fails" in ONNX Runtime, or how the file differs.
    """

    case: str
    kind: str
    way: str = ""
    reason: str = ""
    loaded: str = ""
    sizes: Mapping[str, str] = field(default_factory=dict)


class _TooLongError(Exception):
    """A case took too long."""


def _late(*_: object) -> None:
    raise _TooLongError


def check(case: Case, file: Path) -> Verdict:
    """Load, export and compare a case.

    Args:
        case: the case with TensorFlow's results.
        file: path of the export.
    """
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(_MOST_S)
    try:
        return _check(case, file)
    except _TooLongError:
        return Verdict(case.name, "refused", reason=f"takes more than {_MOST_S} s")
    finally:
        signal.alarm(0)


def _check(case: Case, file: Path) -> Verdict:
    loaded = _loaded(case)
    ways: list[str] = []
    options: dict[str, Any] = {}
    while True:
        try:
            export(case.folder, file, **options)
        except Exception as error:
            if isinstance(error, _TooLongError):
                raise
            said = str(error)
            further = [w for words, w in _WAYS if words in said and w not in ways]
            if not further:
                return Verdict(case.name, "refused", reason=said, loaded=loaded)
            ways.append(further[0])
            if "sample" in ways[-1]:
                options["sample"] = dict(case.feeds[0].inputs)
            elif "opset" in ways[-1]:
                options["opset"] = 21
            else:
                options["allow_random"] = True
        else:
            break
    way = ", ".join(ways)
    session = _session(file)
    looks_at = ("shape", "dtype") if "shape" in way else case.looks_at
    ends = _ends_at_no_rows(file)
    outcomes = [
        "fails: ONNX Runtime ends the process"
        if ends and feed.kind == "no row"
        else _outcome(session, case, feed, looks_at)
        for feed in case.feeds
    ]
    kinds = {"same": "right", "close": "close", "fails": "not run"}
    kind = kinds.get(outcomes[0].partition(":")[0], "wrong")
    sizes = {feed.kind: said for feed, said in zip(case.feeds[1:], outcomes[1:], strict=True)}
    reason = "" if kind == "right" else outcomes[0]
    return Verdict(case.name, kind, way, reason, loaded, sizes)


def _loaded(case: Case) -> str:
    """How this library's results differ from TensorFlow's."""
    try:
        signature = tf.saved_model.load(case.folder).signatures["serving_default"]
    except Exception as error:
        if isinstance(error, _TooLongError):
            raise
        return f"is not loaded: {error}"
    for feed in case.feeds:
        try:
            found = signature(**{k: tf.constant(v) for k, v in feed.inputs.items()})
        except Exception as error:
            if isinstance(error, _TooLongError):
                raise
            return f"{feed.kind}: is not run: {error}"
        for name, wanted in feed.answers.items():
            said = compare(np.asarray(found[name]), wanted, case, case.looks_at)
            if said not in {"same", "close"} and not said.startswith("close"):
                return f"{feed.kind}: {name} {said}"
    return ""


def _session(file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _ends_at_no_rows(file: Path) -> bool:
    """Whether ONNX Runtime (1.32) aborts on empty batches, as it does in these operators."""
    graphs = [onnx.load(file, load_external_data=False).graph]
    while graphs:
        for node in graphs.pop().node:
            if node.op_type in {"GRU", "LSTM"}:
                return True
            graphs += [one.g for one in node.attribute if one.HasField("g")]
    return False


def _outcome(session: Any, case: Case, feed: Feed, looks_at: tuple[str, ...]) -> str:
    wanted = [entry.name for entry in session.get_inputs()]
    given = {name: _given(feed.inputs[name]) for name in wanted if name in feed.inputs}
    try:
        values = session.run(None, given)
    except Exception as error:
        return f"fails: {error}"
    names = [entry.name for entry in session.get_outputs()]
    found = dict(zip(names, values, strict=True))
    worst = "same"
    for name, answer in feed.answers.items():
        if name not in found:
            return f"{name} is missing"
        said = compare(np.asarray(found[name]), answer, case, looks_at)
        if said.startswith("close"):
            worst = said
        elif said != "same":
            return f"{name} {said}"
    return worst


def _given(array: Any) -> Any:
    if array.dtype.kind not in "OSU":
        return array
    texts = [t.decode() if isinstance(t, bytes) else str(t) for t in array.reshape(-1).tolist()]
    return np.array(texts, object).reshape(array.shape)


def compare(found: Any, wanted: Any, case: Case, looks_at: tuple[str, ...]) -> str:
    """ "same", "close" with a distance, or what differs."""
    wanted = np.asarray(wanted)
    if "shape" in looks_at and found.shape != wanted.shape:
        return f"has shape {list(found.shape)} for {list(wanted.shape)}"
    if found.dtype.kind in "OSU" or wanted.dtype.kind in "OSU":
        if "value" not in looks_at:
            return "same"
        return "same" if _given(found).tolist() == _given(wanted).tolist() else "has other strings"
    if "dtype" in looks_at and found.dtype != wanted.dtype:
        return f"is {found.dtype} for {wanted.dtype}"
    if "value" not in looks_at or not wanted.size:
        return "same"
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = np.asarray(found, kind), np.asarray(wanted, kind)
    if case.mtol is not None:
        a, b = np.clip(a, -case.mtol, case.mtol), np.clip(b, -case.mtol, case.mtol)
    # As in the tests: the tolerance is relative to the actual result.
    if np.allclose(b, a, rtol=case.rtol, atol=case.atol, equal_nan=True):
        return "same"
    is_finite = np.isfinite(b)
    if not np.array_equal(is_finite, np.isfinite(a)) or not is_finite.any():
        return "is infinite or NaN in other places"
    gap = float(np.max(np.abs(a - b)[is_finite]))
    size = float(np.max(np.abs(b)[is_finite]))
    if gap <= _CLOSE * size:
        return f"close: {gap:.2g} of {size:.2g}"
    return f"differs by {gap:.3g} of {size:.3g}"
