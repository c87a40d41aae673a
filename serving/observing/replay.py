"""Recorded requests, answered again by a server or a model, and compared."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urlsplit

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, OpError, UnavailableError
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.serving.errors import one_line
from pinnace.serving.messages.prediction_log import read_logs
from pinnace.serving.models.loading import load_model
from pinnace.serving.requests.datatypes import (
    checked_shape,
    datatype_of,
    dtype_named,
    read_tensor,
    write_tensor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.serving.models.loaded_model import LoadedModel
    from pinnace.serving.running.signatures import Array, Arrays

_DEFAULT = "serving_default"
_MAX_HEADER = 2**24


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded request.

    Attributes:
        model: the model's name.
        version: the version that answered; None if unknown.
        signature: the signature that ran.
        inputs: its inputs.
        outputs: its outputs; empty if they were not recorded.
    """

    model: str
    version: int | None
    signature: str
    inputs: Arrays
    outputs: Arrays


class Target(Protocol):
    """The server or model that answers replayed requests."""

    @property
    def name(self) -> str:
        """The name in reports."""

    def run(self, request: Recorded) -> Arrays:
        """Return the outputs for a request's inputs."""

    def close(self) -> None:
        """Release its resources."""


@dataclass(slots=True)
class Compared:
    """The difference of the answers for one output.

    Attributes:
        count: the number of compared answers.
        different: the number of those beyond the tolerances, or of another shape or dtype.
        largest: the largest absolute difference.
        relative: the largest difference relative to the larger of the two numbers.
    """

    count: int = 0
    different: int = 0
    largest: float = 0.0
    relative: float = 0.0


@dataclass(slots=True)
class Report:
    """The result of a replay.

    Attributes:
        names: the names of the expected side and of the target.
        requests: the number of replayed requests.
        skipped: the number of records that are not requests with tensors.
        failures: requests that failed, by the first line of the reason.
        outputs: the differences, by names of signature and output.
        seconds: the durations of the answers, by target.
    """

    names: tuple[str, str]
    requests: int = 0
    skipped: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, Compared] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether every request was answered, and as expected."""
        return not self.failures and not any(found.different for found in self.outputs.values())

    def rows(self) -> list[tuple[str, ...]]:
        """The differences as a table, its heading first."""
        heading: tuple[str, ...] = ("output", "compared", "different", "largest", "relative")
        rows = [heading]
        for name, found in sorted(self.outputs.items()):
            numbers = (f"{found.largest:.3g}", f"{found.relative:.3g}")
            rows.append((name, str(found.count), str(found.different), *numbers))
        return rows

    def latency_rows(self) -> list[tuple[str, ...]]:
        """The latencies in milliseconds as a table, its heading first."""
        rows: list[tuple[str, ...]] = [("answered by", "requests", "p50 ms", "p99 ms", "max ms")]
        for name, seconds in self.seconds.items():
            if seconds:
                p50, p99, most = np.percentile(seconds, [50, 99, 100]) * 1e3
                rows.append((name, str(len(seconds)), f"{p50:.3f}", f"{p99:.3f}", f"{most:.3f}"))
        return rows


class Model:
    """A SavedModel in this process.

    Args:
        path: a version's folder, or a folder of versions.
        version: the version; None for the newest.

    Raises:
        OpError: it cannot be loaded.
    """

    def __init__(self, path: str | Path, version: int | None = None) -> None:
        folder = _version_folder(Path(path), version)
        self.name = str(folder)
        self._model: LoadedModel = load_model(folder)

    def run(self, request: Recorded) -> Arrays:
        """Return the outputs for a request's inputs."""
        signature = self._model.signatures.get(request.signature)
        if signature is None:
            raise InvalidArgumentError(f"{self.name} has no signature '{request.signature}'")
        return signature.run_arrays(request.inputs)

    def close(self) -> None:
        """Does nothing, since a model has no connection."""


class Server:
    """A server that speaks the Open Inference Protocol over HTTP, with raw tensors.

    Args:
        url: the URL, such as `http://host:8501`.
        version: the version; None for the newest.
        key: an API key, sent as bearer token; empty for none.
        timeout_s: the time limit of each request.

    Raises:
        InvalidArgumentError: the URL is not an HTTP URL.
    """

    def __init__(
        self, url: str, version: int | None = None, key: str = "", timeout_s: float = 30.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgumentError(f"--url must be a URL such as http://host:8501, got '{url}'")
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(parts.hostname, parts.port, timeout=timeout_s)
        self._base = parts.path.rstrip("/")
        self._version = version
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.name = url if version is None else f"{url} version {version}"

    def run(self, request: Recorded) -> Arrays:
        """Return the outputs for a request's inputs.

        Raises:
            UnavailableError: the server does not answer, or refuses.
        """
        raw = {name: write_tensor(array) for name, array in request.inputs.items()}
        header = json.dumps(
            {
                "parameters": {"binary_data_output": True, "signature_name": request.signature},
                "inputs": [
                    {
                        "name": name,
                        "shape": list(array.shape),
                        "datatype": datatype_of(array),
                        "parameters": {"binary_data_size": len(raw[name])},
                    }
                    for name, array in request.inputs.items()
                ],
            }
        ).encode()
        path = f"{self._base}/v2/models/{quote(request.model, safe='')}"
        if self._version is not None:
            path += f"/versions/{self._version}"
        headers = {**self._headers, "Inference-Header-Content-Length": str(len(header))}
        body = b"".join([header, *raw.values()])
        try:
            self._connection.request("POST", f"{path}/infer", body, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise UnavailableError(f"{self.name}: {error}") from None
        if response.status != 200:
            text = answer[:300].decode("utf-8", "replace")
            raise UnavailableError(f"{self.name}: {response.status}: {text}")
        return _decode(answer, response.headers.get("Inference-Header-Content-Length"))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def replay(
    paths: Sequence[str | Path],
    target: Target,
    against: Target | None = None,
    *,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    limit: int = 0,
) -> Report:
    """Answer recorded requests again, and compare the answers.

    Args:
        paths: TFRecord files of PredictionLogs, or folders of these.
        target: the server or model that answers.
        against: the one with the expected answers; None expects those of the records.
        rtol: tolerance relative to the expected number,
        atol: and absolute tolerance, which are added.
        limit: the number of requests to replay; 0 for all.

    Raises:
        NotFoundError: there are no records.
        OpError: a file is damaged; the message names file and record.
    """
    report = Report(("recorded" if against is None else against.name, target.name))
    report.seconds = {one.name: [] for one in (against, target) if one is not None}
    for request in _requests(find_records(paths), report):
        if limit and report.requests >= limit:
            break
        report.requests += 1
        try:
            expected = request.outputs if against is None else _timed(against, request, report)
            found = _timed(target, request, report)
        except OpError as error:
            reason = one_line(error)[:200]
            report.failures[reason] = report.failures.get(reason, 0) + 1
            continue
        for name in sorted(expected.keys() | found.keys()):
            compared = report.outputs.setdefault(f"{request.signature}:{name}", Compared())
            compared.count += 1
            if name not in expected or name not in found:
                compared.different += 1
            else:
                _compare(compared, expected[name], found[name], rtol, atol)
    return report


def find_records(paths: Sequence[str | Path]) -> list[Path]:
    """Return the files under these paths, sorted by name.

    Raises:
        NotFoundError: a path does not exist, or there is no file.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += sorted(path.glob("*.tfrecord"))
        elif path.is_file():
            found.append(path)
        else:
            raise NotFoundError(f"{path}: there is no such file or folder")
    if not found:
        raise NotFoundError(f"{', '.join(map(str, paths))}: no *.tfrecord file")
    return found


def _requests(files: Sequence[Path], report: Report) -> Iterator[Recorded]:
    for file in files:
        for i, log in enumerate(read_logs(file)):
            if log.WhichOneof("log_type") != "predict_log":
                report.skipped += 1
                continue
            spec = log.predict_log.request.model_spec
            response = log.predict_log.response
            where = f"{file}: record {i}"
            version = spec.version.value if spec.HasField("version") else None
            yield Recorded(
                spec.name,
                version,
                spec.signature_name or _DEFAULT,
                {
                    key: decode_tensor(value, f"{where}, input '{key}'")
                    for key, value in log.predict_log.request.inputs.items()
                },
                {
                    key: decode_tensor(value, f"{where}, output '{key}'")
                    for key, value in response.outputs.items()
                },
            )


def _timed(target: Target, request: Recorded, report: Report) -> Arrays:
    begin = time.perf_counter()
    outputs = target.run(request)
    report.seconds[target.name].append(time.perf_counter() - begin)
    return outputs


def _compare(compared: Compared, expected: Array, found: Array, rtol: float, atol: float) -> None:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        compared.different += 1
        return
    if expected.dtype == object or expected.dtype == bool:
        compared.different += not np.array_equal(expected, found)
        return
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    a, b = expected.astype(wide), found.astype(wide)
    with np.errstate(all="ignore"):
        # NaN equals NaN, and an infinity the same infinity.
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.where(same, 0.0, np.abs(a - b))
        gap = np.where(np.isnan(gap), np.inf, gap)
        size = np.maximum(np.abs(a), np.abs(b))
        relative = np.where(same, 0.0, gap / size)
        beyond = ~same & ~(gap <= atol + rtol * np.abs(a))
    compared.largest = max(compared.largest, float(gap.max(initial=0.0)))
    compared.relative = max(
        compared.relative, float(np.nan_to_num(relative, nan=np.inf).max(initial=0.0))
    )
    compared.different += bool(beyond.any())


def _decode(answer: bytes, length: str | None) -> dict[str, Array]:
    size = len(answer) if length is None else int(length) if length.isdigit() else -1
    if not 0 <= size <= min(len(answer), _MAX_HEADER):
        raise UnavailableError("the server's reply has no header of the length that it says")
    try:
        outputs = json.loads(answer[:size])["outputs"]
        described = [
            (o["name"], o["datatype"], o["shape"], o["parameters"]["binary_data_size"])
            for o in outputs
        ]
    except (ValueError, KeyError, TypeError):
        raise UnavailableError("the server's reply is not of the Open Inference Protocol") from None
    arrays = {}
    view = memoryview(answer)[size:]
    for name, kind, shape, count in described:
        dtype = dtype_named(kind)
        array = read_tensor(name, dtype, checked_shape(name, shape), view[:count])
        arrays[name] = array if dtype is dtypes.string else np.asarray(array)
        view = view[count:]
    return arrays


def _version_folder(path: Path, version: int | None) -> Path:
    if version is not None:
        numbered = (
            {int(p.name): p for p in path.iterdir() if p.name.isdigit()} if path.is_dir() else {}
        )
        if version not in numbered:
            raise NotFoundError(f"{path}: there is no version {version}")
        return numbered[version]
    if (path / "saved_model.pb").is_file() or not path.is_dir():
        return path
    versions = [p for p in path.iterdir() if p.name.isdigit()]
    return max(versions, key=lambda p: int(p.name), default=path)
