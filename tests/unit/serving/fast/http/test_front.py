"""The hot front: segments, pipelining, clients that leave, and requests left to the parser."""

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.serving.fast.http.front import read_block
from pinnace.serving.fast.lingering import Lingering
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.repository import Repository
from support.waiting import until_in_loop
from unit.serving.http_requests import (
    PREDICT,
    Way,
    application,
    infer,
    read_reply,
    replies,
    request,
    rows,
    serve,
    tensor,
)
from unit.serving.numpy_models import NumpyModel, half_plus_two

ONE, ONE_OUT = half_plus_two().inputs, half_plus_two().outputs
X = np.float32([1, 2])


def test_no_more_requests_at_once_than_allowed(tmp_path: Path) -> None:
    for way in (Way.HOT, Way.PLAIN):
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

        with application(tmp_path / way.name, max_concurrent_requests=3) as (settings, models):
            serve(settings, models, way, ask)
        statuses = sorted(reply[9:12] for reply in found[:-1])
        assert statuses == [b"200"] * 3 + [b"503"] * 5
        refused = next(reply for reply in found if b" 503 " in reply)
        assert b"retry-after: 1" in refused
        assert b"3 requests are being answered already; try again later" in refused
        assert found[-1].endswith(b'{"predictions":[2.5]}')


def test_a_client_that_leaves_gives_its_place_to_others(tmp_path: Path) -> None:
    """Queued runs of clients that left never begin."""
    ran: list[float] = []

    def count(feeds: Any) -> Any:
        ran.append(1)
        time.sleep(0.1)
        return {"y": feeds["x"]}

    for way in (Way.HOT, Way.PLAIN):
        ran.clear()

        async def ask(port: int) -> None:
            writers = []
            for i in range(10):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request(rows(i)))
                await writer.drain()
                writers.append(writer)
            await until_in_loop(lambda: bool(ran))
            for writer in writers:
                writer.transport.abort()
            await asyncio.sleep(0.05)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(rows(1)))
            assert b"200 OK" in await asyncio.wait_for(read_reply(reader), 10)
            writer.close()

        model = LoadedModel({"serving_default": NumpyModel(ONE, ONE_OUT, count)})
        with application(tmp_path / way.name, run_threads=1, warmup_iterations=0) as (found, _):
            repository = Repository(found, lambda _, model=model: model)
            repository.start()
            serve(found, repository, way, ask)
            repository.close()
        assert len(ran) <= 4  # one that ran, perhaps another that had begun, and the last


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_bytes_may_come_in_any_pieces(tmp_path: Path, chunk: int) -> None:
    requests = [request(rows(1, 2)), request(b"{"), request(b"", b"/healthz", method=b"GET")]
    cold = replies(tmp_path / "b", Way.PLAIN, requests, len(requests[0]))  # in one segment
    assert replies(tmp_path / "a", Way.HOT, requests, chunk) == cold


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    cut = request(rows(*range(100)))[:-20]
    (hot,) = replies(tmp_path / "a", Way.HOT, [cut])
    (cold,) = replies(tmp_path / "b", Way.PLAIN, [cut])
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
            serve(settings, repository, Way.HOT, ask)
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
    replies(tmp_path, Way.HOT, requests)
    now = time.perf_counter()
    assert len(told) == 4  # two were answered twice; a refused request is not pending work
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
        serve(settings, repository, Way.HOT, ask)


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
