"""As little as a Python server can do and answer: the yardstick for processor time.

A connection of uvicorn that knows header blocks by their bytes and runs the requests of one turn of
the event loop as one batch. There are no limits, no deadlines, no metrics, no versions, no checks:
what it takes is what the machine, uvloop and ONNX Runtime take.
"""

import json

import numpy as np
import orjson
import simdjson
from onnx_model import load
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_run = load()
_parser = simdjson.Parser()
_JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
_BINARY = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n"
    b"inference-header-content-length: %d\r\ncontent-length: %d\r\n\r\n%b%b"
)
_blocks: dict[bytes, tuple[int, int]] = {}
_shapes: dict[bytes, list[int]] = {}
_heads: dict[tuple[int, ...], bytes] = {}
_waiting: list[tuple["Bare", np.ndarray, bool]] = []


async def app(scope, receive, send):
    """Nothing is answered beside the connections."""


def _understood(block: bytes) -> tuple[int, int]:
    """The length of the body; that of the JSON before raw tensors, 0 without any."""
    lines = [line.partition(b":") for line in block[:-4].lower().split(b"\r\n")[1:]]
    headers = {name: value.strip() for name, _, value in lines}
    return int(headers[b"content-length"]), int(headers.get(b"inference-header-content-length", 0))


def _raw(body: bytes, size: int) -> np.ndarray:
    header = body[:size]
    shape = _shapes.get(header)
    if shape is None:
        shape = _shapes[header] = json.loads(header)["inputs"][0]["shape"]
    return np.frombuffer(body, np.float32, offset=size).reshape(shape)


def _parsed(body: bytes) -> np.ndarray:
    document = _parser.parse(body)
    rows = document["instances"]
    numbers = np.frombuffer(rows.as_buffer(of_type="d"), np.float64).astype(np.float32)
    count = len(rows)
    del document, rows  # the parser is used again
    return numbers.reshape(count, -1)


def _reply(y: np.ndarray, is_raw: bool) -> bytes:
    if not is_raw:
        body = orjson.dumps({"predictions": y}, option=orjson.OPT_SERIALIZE_NUMPY)
        return _JSON % (len(body), body)
    head = _heads.get(y.shape)
    if head is None:
        output = {"name": "probabilities", "shape": list(y.shape), "datatype": "FP32"}
        output["parameters"] = {"binary_data_size": y.nbytes}
        document = {"model_name": "m", "model_version": "1", "outputs": [output]}
        head = _heads[y.shape] = json.dumps(document, separators=(",", ":")).encode()
    return _BINARY % (len(head), len(head) + y.nbytes, head, y.tobytes())


def _answer() -> None:
    turn = _waiting[:]
    _waiting.clear()
    y = _run(turn[0][1] if len(turn) == 1 else np.concatenate([x for _, x, _ in turn]))
    begin = 0
    for connection, x, is_raw in turn:
        end = begin + len(x)
        connection.transport.write(_reply(y[begin:end], is_raw))
        begin = end


class Bare(HttpToolsProtocol):
    """A connection on which one request follows the other's answer."""

    _came = b""

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if self._came:
            data = self._came + data
        end = data.find(b"\r\n\r\n") + 4
        block = data[:end]
        found = _blocks.get(block)
        if found is None:
            found = _blocks[block] = _understood(block)
        length, header = found
        if len(data) < end + length:
            self._came = data
            return
        self._came = b""
        body = data[end:]
        if not _waiting:
            self.loop.call_soon(_answer)
        _waiting.append((self, _raw(body, header) if header else _parsed(body), header > 0))
