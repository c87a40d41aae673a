"""Requests in the form that each server reads, and predictions in the form that it answers."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servers.models import rows


@dataclass(frozen=True)
class Form:
    """How a server is asked.

    Attributes:
        body: of so many rows.
        headers: of the request.
        read: the predictions of a reply, or None where it has none.
    """

    body: Callable[[int], bytes]
    headers: Callable[[int], dict[str, str]]
    read: Callable[[bytes, dict[str, str]], np.ndarray] | None


def _header(count: int) -> bytes:
    tensor = {
        "name": "inputs",
        "shape": [count, 784],
        "datatype": "FP32",
        "parameters": {"binary_data_size": count * 784 * 4},
    }
    document = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
    return json.dumps(document, separators=(",", ":")).encode()


def _read_binary(reply: bytes, headers: dict[str, str]) -> np.ndarray:
    raw = reply[int(headers["inference-header-content-length"]) :]
    return np.frombuffer(raw, np.float32).reshape(-1, 10)


def _v2(count: int) -> bytes:
    tensor = {"name": "inputs", "shape": [count, 784], "datatype": "FP32"}
    return json.dumps({"inputs": [tensor | {"data": rows(count).ravel().tolist()}]}).encode()


def _read_v2(reply: bytes, _: dict[str, str]) -> np.ndarray:
    return np.array(json.loads(reply)["outputs"][0]["data"]).reshape(-1, 10)


def _read_rows(reply: bytes, _: dict[str, str]) -> np.ndarray:
    found = json.loads(reply)
    return np.array(found["predictions"] if isinstance(found, dict) else found)


_JSON = {"Content-Type": "application/json"}
FORMS = {
    "json": Form(
        lambda n: json.dumps({"instances": rows(n).tolist()}).encode(), lambda _: _JSON, _read_rows
    ),
    "v2": Form(_v2, lambda _: _JSON, _read_v2),
    "binary": Form(
        lambda n: _header(n) + rows(n).tobytes(),
        lambda n: {
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(len(_header(n))),
        },
        _read_binary,
    ),
    "echo": Form(
        lambda n: json.dumps({"instances": rows(n).tolist()}).encode(), lambda _: _JSON, None
    ),
    "binary echo": Form(
        lambda n: _header(n) + rows(n).tobytes(),
        lambda _: {"Content-Type": "application/octet-stream"},
        None,
    ),
}
