"""The hot front answers what the application answers, byte for byte, and leaves it the rest."""

import asyncio
import hashlib
import io
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import uvicorn

from pinnace.serving.app import create_app
from pinnace.serving.http.protocol import bound, read_block
from pinnace.serving.lingering import Lingering
from pinnace.serving.model_config import ModelConfig
from pinnace.serving.repository import Repository
from pinnace.serving.servable import LoadedModel
from pinnace.serving.settings import Settings
from unit.serving.numpy_models import NumpyModel, every_kind, half_plus_two, write_version

Array = npt.NDArray[Any]

PREDICT = b"/v1/models/m:predict"
INFER = b"/v2/models/m/infer"
NPY = b"Content-Type: application/x-npy"
ONE, ONE_OUT = half_plus_two().inputs, half_plus_two().outputs


def request(body: bytes, path: bytes = PREDICT, *headers: bytes, method: bytes = b"POST") -> bytes:
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: test", b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, *headers]) + b"\r\n\r\n" + body


def rows(*values: object, **more: object) -> bytes:
    return json.dumps({"instances": list(values), **more}).encode()


def npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


BODIES = [
    rows(1, 2.5, -3e2),
    rows(1, signature_name="echo_float64"),
    rows([[1, 2], [3, 4]], signature_name="echo_float32"),
    rows([1, 2], [3, 4], signature_name="echo_float32"),
    rows([1, 2], [3], signature_name="echo_float32"),
    rows([1, [2]], [3, 4], signature_name="echo_float32"),
    rows([], signature_name="echo_float32"),
    rows(True, signature_name="echo_float32"),
    rows(None, signature_name="echo_float32"),
    rows("1", signature_name="echo_float32"),
    rows([1, "x"], signature_name="echo_float32"),
    rows([1, {"a": 1}], signature_name="echo_float32"),
    rows(2**63, 2**64, 10**400, signature_name="echo_float64"),
    rows(1, signature_name="no such"),
    rows(1, signature_name="a[b"),
    rows(1, signature_name=5),
    rows(),
    b'{"instances":[1],"instances":[2]}',
    b'{"instances":[1]} trailing',
    b'{"instances":[NaN,1e999,-0]}',
    b'{"instances":[1.0000000000000000000000001,0.1,123456789012345678901234567890]}',
    b'{"inputs":[1]}',
    b'{"inputs":{"x":[1]},"other":[[[]]]}',
    b'{"instances":1}',
    b"{}",
    b"[]",
    b"",
    b"\xff",
    b"{",
    rows(1, signature_name="value_error"),
    rows(1, signature_name="memory_error"),
    rows(1, signature_name="not_found"),
    rows("a", {"b64": "/w=="}, signature_name="text_bytes"),
    rows(1, 2, signature_name="total"),
    rows({"a": [1, 2], "b": [3, 4]}, signature_name="two"),
]
OTHERS = [
    request(npy(np.float32([1, 2])), PREDICT, NPY),
    request(npy(np.float32([1, 2])), PREDICT, NPY, b"Accept: application/x-npy"),
    request(npy(np.float64([1, 2])), PREDICT, NPY, b"X-Signature-Name: echo_float64"),
    request(npy(np.float64([1, 2])), PREDICT, NPY),
    request(b"no array", PREDICT, NPY),
    request(rows(1), PREDICT, b"Accept: application/x-npy"),
    request(rows(1), b"/v1/models/m/versions/7:predict"),
    request(rows(1), b"/v1/models/m/versions/8:predict"),
    request(rows(1), b"/v1/models/m/versions/99999999999999999999:predict"),
    request(rows(1), b"/v1/models/m/labels/none:predict"),
    request(rows(1), b"/V1/MODELS/m:PREDICT"),
    request(rows(1), b"/v1/models/%6d:predict"),
    request(rows(1), b"/v1/models/m:predict?x=1"),
    request(rows(1), b"/v1/models/other:predict"),
    request(rows(1), b"/v1/models/m:explode"),
    request(rows(1), PREDICT, b"X-Request-Timeout-Ms: 1000"),
    request(rows(1), PREDICT, b"X-Request-Timeout-Ms: soon"),
    request(rows(1, signature_name="slow"), PREDICT, b"X-Request-Timeout-Ms: 50"),
    request(rows(*range(300_000)), PREDICT),
    request(b"x" * 2_000_000, PREDICT),
    request(rows(1), PREDICT, b"Content-Encoding: gzip"),
    request(b"", PREDICT, method=b"GET"),
    request(b"", b"/healthz", method=b"GET"),
]


def tensor(name: str, array: Array, is_binary: bool = True) -> tuple[dict[str, Any], bytes]:
    kinds = {"float32": "FP32", "float64": "FP64", "int32": "INT32", "bool": "BOOL"}
    described: dict[str, Any] = {
        "name": name,
        "shape": list(array.shape),
        "datatype": kinds[array.dtype.name],
    }
    if not is_binary:
        return described | {"data": array.ravel().tolist()}, b""
    return described | {"parameters": {"binary_data_size": array.nbytes}}, array.tobytes()


def infer(
    *tensors: tuple[dict[str, Any], bytes], extra: bytes = b"", lies: int = 0, **more: Any
) -> bytes:
    header = json.dumps({"inputs": [described for described, _ in tensors], **more}).encode()
    raw = b"".join(data for _, data in tensors) + extra
    length = b"Inference-Header-Content-Length: %d" % (len(header) + lies)
    has_raw = bool(raw) or lies
    return request(header + raw, INFER, *([length] if has_raw else []))


X = np.float32([1, 2])
SOME = {"signature_name": "echo_float32", "binary_data_output": True}
TWO = [tensor(name, np.float32([[1, 2]]), name == "a") for name in "ab"]
INFERS = [
    infer(tensor("x", X)),
    infer(tensor("x", X), parameters={"binary_data_output": True}),
    infer(tensor("x", X, is_binary=False)),
    infer(tensor("x", X, is_binary=False), id="one", parameters={"binary_data_output": True}),
    infer(tensor("x", X.reshape(2, 1)), parameters=SOME),
    infer(*TWO, parameters={"signature_name": "two"}),
    infer(*TWO, parameters={"signature_name": "two"}, outputs=[{"name": "difference"}]),
    infer(*TWO, parameters={"signature_name": "two"}, outputs=[{"name": "product"}]),
    infer(tensor("x", X), extra=b"more"),
    infer(tensor("x", X), lies=1),
    infer(tensor("x", X), lies=10**6),
    infer(tensor("y", X)),
    infer(tensor("x", np.float64([1]))),
    infer(tensor("x", X), tensor("x", X)),
    infer(),
    request(X.tobytes(), INFER, b"Inference-Header-Content-Length: 0"),
    request(X.tobytes(), INFER, b"Inference-Header-Content-Length: -1"),
    request(b"{", INFER),
    request(b"{}", b"/v2/models/m/versions/7/infer"),
    request(b"{}", b"/v2/models/m/versions/8/infer"),
    request(b"{}", b"/v2/models/other/infer"),
]


@contextmanager
def application(tmp_path: Path, **more: Any) -> Iterator[tuple[Settings, Repository]]:
    write_version(tmp_path / "m", 7)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    settings = Settings(
        models=models,
        file_system_poll_s=0,
        max_body_bytes=2**20 + 2**19,
        body_timeout_s=0.3,
        batching=None,
    )
    settings = replace(settings, **more)
    repository = Repository(settings, lambda _: every_kind())
    repository.start()
    try:
        yield settings, repository
    finally:
        repository.close()


def serve(
    settings: Settings,
    repository: Repository,
    is_hot: bool,
    ask: Callable[[int], Awaitable[None]],
) -> None:
    """Ask a server on a port of its own, in this thread."""

    async def run() -> None:
        app = create_app(settings, repository)
        http = bound(app.state.exchange) if is_hot else "httptools"
        config = uvicorn.Config(app, http=http, lifespan="off", log_level="error", port=0)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            await ask(server.servers[0].sockets[0].getsockname()[1])
        finally:
            server.should_exit = True
            await task

    asyncio.run(run())


async def read_reply(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None
    body = await reader.readexactly(int(length[1]))
    return re.sub(rb"date: [^\r]*", b"date: ", head) + body


def replies(
    tmp_path: Path,
    is_hot: bool,
    requests: list[bytes],
    chunk: int = 0,
    gap_s: float = 0.0,
    **more: Any,
) -> list[bytes]:
    """The replies to each request, on a connection of its own.

    Each is sent twice, and known by its header's bytes then, unless the first reply is the last.
    """
    found: list[bytes] = []

    async def ask(port: int) -> None:
        for text in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            step = chunk or len(text)
            for begin in range(0, len(text), step):
                writer.write(text[begin : begin + step])
                if chunk:
                    await writer.drain()
                    await asyncio.sleep(gap_s)
            reply = await asyncio.wait_for(read_reply(reader), 10)
            if b"connection: close" not in reply and not chunk:
                writer.write(text)
                reply += await asyncio.wait_for(read_reply(reader), 10)
            found.append(reply)
            writer.close()

    with application(tmp_path, **more) as (settings, repository):
        serve(settings, repository, is_hot, ask)
    return found


KEYED = [
    request(rows(1), path, *headers)
    for path in (PREDICT, b"/v1/models/%6d:predict", b"/v1/models/none:predict", b"/healthz")
    for headers in (
        [b"Authorization: Bearer right"],
        [b"authorization: bearer   right"],
        [b"X-API-Key: right"],
        [b"X-API-Key: wrong", b"Authorization: Bearer right"],
        [b"X-API-Key: hashed"],
        [b"X-API-Key:"],
        [b"Authorization: Basic right"],
        [b"Authorization: Bearer"],
        [b"Authorization: Bearer right right"],
        [b"X-API-Key: righ\xe9"],
    )
]
PACKED = [
    request(rows(*range(size)), PREDICT, b"Accept-Encoding: " + encoding)
    for size in (1, 1000)
    for encoding in (b"gzip", b"identity", b"deflate, gzip;q=0.5", b"gzip;q=0", b"*", b"")
]
KEY_LINES = "right  somebody\n# nobody\nsha256:" + hashlib.sha256(b"hashed").hexdigest() + "\n"
POLICIES: dict[str, dict[str, Any]] = {
    "keys": {"api_keys_file": "keys"},
    "concurrency": {"max_concurrent_requests": 1},
    "bytes": {"max_inflight_bytes": 100},
    "body limits": {"max_body_bytes_of": (("m", 60), ("other", 5))},
    "gzip": {"gzip": True},
    "cors": {"cors": True},
    "run limits": {"max_run_s": 0.1, "max_run_bytes": 10**6},
    "access log": {"access_log": "log"},
    "recording": {"record": "records"},
    "everything": {
        "api_keys_file": "keys",
        "gzip": True,
        "access_log": "log",
        "record": "records",
        "max_concurrent_requests": 10,
        "max_run_s": 10.0,
    },
}


@pytest.mark.parametrize("policy", POLICIES)
def test_both_ways_give_the_same_bytes_with_each_policy(tmp_path: Path, policy: str) -> None:
    requests = [
        *(request(body) for body in BODIES),
        *(request(body, PREDICT, b"X-API-Key: right") for body in BODIES),
        *OTHERS,
        *INFERS,
        *KEYED,
        *PACKED,
    ]
    found = []
    for is_hot in (True, False):
        folder = tmp_path / str(is_hot)
        folder.mkdir()
        (folder / "keys").write_text(KEY_LINES)
        more = dict(POLICIES[policy])
        for name in {"api_keys_file", "access_log", "record"} & more.keys():
            more[name] = str(folder / more[name])
        found.append(replies(folder, is_hot and "cors" not in more, requests, **more))
    for text, one, other in zip(requests, *found, strict=True):
        assert one == other, text[:200]
    assert any(reply.startswith(b"HTTP/1.1 200 OK") for reply in found[0])
    if "api_keys_file" in POLICIES[policy]:
        refused = [b"HTTP/1.1 401 " in reply for reply in found[0]]
        assert refused[: len(BODIES)] == [True] * len(BODIES)
        assert not any(refused[len(BODIES) : 2 * len(BODIES)])
    if policy == "gzip":
        packed = [reply for reply in found[0] if b"content-encoding: gzip" in reply]
        assert len(packed) == 3


def test_no_more_requests_at_once_than_allowed(tmp_path: Path) -> None:
    for is_hot in (True, False):
        found: list[bytes] = []

        async def ask(port: int, found: list[bytes] = found) -> None:
            async def one(body: bytes) -> bytes:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request(body))
                reply = await asyncio.wait_for(read_reply(reader), 10)
                writer.close()
                return reply

            bodies = [rows(i, signature_name="slow") for i in range(8)]
            found += await asyncio.gather(*map(one, bodies))
            found.append(await one(rows(1)))  # room again

        with application(tmp_path / str(is_hot), max_concurrent_requests=3) as (settings, models):
            serve(settings, models, is_hot, ask)
        statuses = sorted(reply[9:12] for reply in found[:-1])
        assert statuses == [b"200"] * 3 + [b"503"] * 5
        refused = next(reply for reply in found if b" 503 " in reply)
        assert b"retry-after: 1" in refused
        assert b"3 requests are being answered already; try again later" in refused
        assert found[-1].endswith(b'{"predictions":[2.5]}')


def test_a_client_that_leaves_gives_its_place_to_others(tmp_path: Path) -> None:
    """The runs of clients that left while they waited never begin."""
    ran: list[float] = []

    def count(feeds: Any) -> Any:
        ran.append(1)
        time.sleep(0.1)
        return {"y": feeds["x"]}

    for is_hot in (True, False):
        ran.clear()

        async def ask(port: int) -> None:
            writers = []
            for i in range(10):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request(rows(i)))
                await writer.drain()
                writers.append(writer)
            while not ran:
                await asyncio.sleep(0.01)
            for writer in writers:
                writer.transport.abort()
            await asyncio.sleep(0.05)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(rows(1)))
            assert b"200 OK" in await asyncio.wait_for(read_reply(reader), 10)
            writer.close()

        model = LoadedModel({"serving_default": NumpyModel(ONE, ONE_OUT, count)})
        with application(tmp_path / str(is_hot), run_threads=1, warmup_iterations=0) as (found, _):
            repository = Repository(found, lambda _, model=model: model)
            repository.start()
            serve(found, repository, is_hot, ask)
            repository.close()
        assert len(ran) <= 4  # one that ran, perhaps another that had begun, and the last


def test_both_ways_give_the_same_bytes(tmp_path: Path) -> None:
    requests = [request(body) for body in BODIES] + OTHERS + INFERS
    hot = replies(tmp_path / "hot", True, requests)
    cold = replies(tmp_path / "cold", False, requests)
    for text, one, other in zip(requests, hot, cold, strict=True):
        assert one == other, text[:200]
    assert sum(b"HTTP/1.1 200 OK" in reply for reply in hot) >= 20


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_bytes_may_come_in_any_pieces(tmp_path: Path, chunk: int) -> None:
    requests = [request(rows(1, 2)), request(b"{"), request(b"", b"/healthz", method=b"GET")]
    cold = replies(tmp_path / "b", False, requests, len(requests[0]))  # in one piece
    assert replies(tmp_path / "a", True, requests, chunk) == cold


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    cut = request(rows(*range(100)))[:-20]
    (hot,) = replies(tmp_path / "a", True, [cut])
    (cold,) = replies(tmp_path / "b", False, [cut])
    assert hot == cold
    assert hot.startswith(b"HTTP/1.1 408 ")


def test_one_connection_carries_hot_and_other_requests(tmp_path: Path) -> None:
    mixed = [
        request(rows(1)),
        request(b"", b"/v1/models/m", method=b"GET"),
        request(rows(2)),
        request(rows(3), PREDICT, b"Expect: nothing"),
        request(rows(4), b"/v1/models/%6d:predict"),
        request(rows(1, signature_name="slow")),
        request(rows(5)),
    ]
    for is_pipelined in (False, True):
        found: list[bytes] = []

        async def ask(
            port: int, is_pipelined: bool = is_pipelined, found: list[bytes] = found
        ) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if is_pipelined:
                writer.write(b"".join(mixed))
            for text in mixed:
                if not is_pipelined:
                    writer.write(text)
                found.append(await asyncio.wait_for(read_reply(reader), 10))
            writer.close()

        with application(tmp_path / str(is_pipelined)) as (settings, repository):
            serve(settings, repository, True, ask)
        bodies = [reply.split(b"\r\n\r\n", 1)[1] for reply in found]
        assert bodies[0] == b'{"predictions":[2.5]}'
        assert b"AVAILABLE" in bodies[1]
        assert [bodies[i] for i in (2, 3, 4, 5, 6)] == [
            b'{"predictions":[3.0]}',
            b'{"predictions":[3.5]}',
            b'{"predictions":[4.0]}',
            b'{"predictions":[2.5]}',
            b'{"predictions":[4.5]}',
        ]


def test_the_loop_is_told_of_replies_that_leave_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[float, float]] = []
    monkeypatch.setattr(Lingering, "note_reply", lambda _, *times: told.append(times))
    requests = [request(rows(1)), request(b"{"), infer(tensor("x", X))]
    begun = time.perf_counter()
    replies(tmp_path, True, requests)
    now = time.perf_counter()
    assert len(told) == 4  # two were answered twice; what is refused is no work that goes on
    assert all(begun < came < answered < now for came, answered in told)


def test_a_client_that_leaves_disturbs_nobody(tmp_path: Path) -> None:
    async def ask(port: int) -> None:
        for _ in range(20):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(rows(1, signature_name="slow")))
            await writer.drain()
            writer.transport.abort()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(rows(1)))
        reply = await asyncio.wait_for(read_reply(reader), 10)
        assert reply.endswith(b'{"predictions":[2.5]}')
        writer.close()

    with application(tmp_path) as (settings, repository):
        serve(settings, repository, True, ask)


HEAD = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"


def test_a_plain_block_is_understood() -> None:
    found = read_block(HEAD + b"Content-Type: application/json\r\nX-Key:  a b \r\n\r\n")
    assert found is not None
    assert (found.which.name, found.length) == ("m", 2)
    assert found.headers[b"x-key"] == b"a b"


@pytest.mark.parametrize(
    "block",
    [
        HEAD + b"Content-Length: 2\r\n\r\n",
        HEAD + b"content-length: 3\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
        HEAD + b"transfer-encoding : chunked\r\n\r\n",
        HEAD + b"Connection: close\r\n\r\n",
        HEAD + b"Connection: upgrade\r\n\r\n",
        HEAD + b"Expect: 100-continue\r\n\r\n",
        HEAD + b"Content-Encoding: gzip\r\n\r\n",
        HEAD + b"Folded: a\r\n b\r\n\r\n",
        HEAD + b"Bad name: a\r\n\r\n",
        HEAD + b"A: b\nTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"A: b\rTransfer-Encoding: chunked\r\n\r\n",
        HEAD + b"A: \x00\r\n\r\n",
        HEAD + b": a\r\n\r\n",
        HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n",
        HEAD.replace(b"Length: 2", b"Length: +2") + b"\r\n",
        HEAD.replace(b"Length: 2", b"Length: 2, 2") + b"\r\n",
        HEAD.replace(b"Length: 2", b"Length: 0x2") + b"\r\n",
        HEAD.replace(b"Host: a\r\n", b"") + b"\r\n",
        HEAD.replace(b"m:predict", b"m%2f:predict") + b"\r\n",
        HEAD.replace(b"POST ", b"post ") + b"\r\n",
        HEAD.replace(b"POST ", b"POST  ") + b"\r\n",
    ],
)
def test_what_is_not_plain_is_left_to_the_parser(block: bytes) -> None:
    assert read_block(block) is None
