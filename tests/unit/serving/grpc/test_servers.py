"""Calls of both gRPC servers: deadlines, cancellation, crowds, streams, and shutdown.

grpcio's own client asks. Each test runs on grpcio's core and on grpc.aio.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attack import http2
from pinnace.framework.errors import CANCELLED, DEADLINE_EXCEEDED, OK
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse, HealthListResponse
from pinnace.proto.inference_service_pb2 import ModelInferRequest, ModelInferResponse
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.repository import Repository
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.requests.exchange import Exchange
from pinnace.serving.requests.exchanging import Exchanging
from pinnace.serving.requests.room import FEW_MESSAGES
from pinnace.serving.running.signatures import Arrays
from unit.serving.numpy_models import NumpyModel, write_version

grpc = pytest.importorskip("grpc")
from pinnace.serving import acceleration  # noqa: E402
from pinnace.serving.fast.grpc import core_server  # noqa: E402 - needs grpcio
from pinnace.serving.grpc.listening import listening  # noqa: E402
from support.waiting import until_in_loop  # noqa: E402

PREDICT = "/tensorflow.serving.PredictionService/Predict"
INFER = "/inference.GRPCInferenceService/ModelInfer"
HEALTH = "/grpc.health.v1.Health/"
WAIT_S = 20.0


class Gate:
    """A model whose runs wait until they are released."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.runs = 0

    def run(self, feeds: Arrays) -> Arrays:
        self.runs += 1
        self.entered.release()
        assert self.open.wait(WAIT_S)
        return {"y": feeds["x"] + 1}


def model_of(gate: Gate) -> LoadedModel:
    spec = TensorSpec([None], "float32")
    table = TensorSpec([None, 3], "float32")
    return LoadedModel(
        {
            "serving_default": NumpyModel(
                {"x": table}, {"y": table}, lambda f: {"y": f["x"] * 2}, is_pure=True
            ),
            "gated": NumpyModel({"x": spec}, {"y": spec}, gate.run),
        }
    )


class World:
    """A server, its service, and a client's channel."""

    def __init__(
        self, exchange: Exchange, gate: Gate, channel: Any, port: int, stop: Callable[[], Any]
    ) -> None:
        self.exchange = exchange
        self.gate = gate
        self.channel = channel
        self.port = port
        self.stop = stop

    def predict(self, array: Any, signature: str = "", **options: Any) -> Any:
        call = self.channel.unary_unary(PREDICT, response_deserializer=PredictResponse.FromString)
        return call(request(array, signature), **{"timeout": WAIT_S, **options})

    async def enter(self, times: int = 1) -> None:
        for _ in range(times):
            assert await asyncio.to_thread(self.gate.entered.acquire, timeout=WAIT_S)

    async def settled(self, is_so: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        await until_in_loop(is_so, WAIT_S)

    def count(self, code: int) -> float:
        meters = dict(self.exchange.metrics.everywhere())
        meter = meters.get(("m", "predict", "GRPC"))
        return 0 if meter is None else meter.statuses[code]


def request(array: Any, signature: str = "") -> bytes:
    message = PredictRequest()
    message.model_spec.name, message.model_spec.signature_name = "m", signature
    message.inputs["x"].CopyFrom(encode_tensor(np.asarray(array, np.float32)))
    return message.SerializeToString()


@pytest.fixture(params=[True, False], ids=["core", "aio"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Runs a coroutine with a world whose server is on grpcio's core, or on grpc.aio."""

    def work(test: Callable[[World], Awaitable[None]], **more: Any) -> None:
        asyncio.run(_run(test, request.param, tmp_path, more))

    work.on_core = request.param  # type: ignore[attr-defined]
    return work


async def _run(
    test: Callable[[World], Awaitable[None]], on_core: bool, folder: Path, more: dict[str, Any]
) -> None:
    write_version(folder / "m", 7)
    gate = Gate()
    options = {"max_body_bytes": 10**7, "drain_timeout_s": 10.0, **more}
    settings = Settings(
        models=(ModelConfig("m", str(folder / "m")),), file_system_poll_s=0, **options
    )
    repository = Repository(settings, lambda _: model_of(gate))
    repository.start()
    exchange = Exchange(settings, repository, Metrics(lambda name: name in repository))
    try:
        async with (
            _served(exchange, on_core) as (port, stop),
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            await test(World(exchange, gate, channel, port, stop))
    finally:
        gate.open.set()
        repository.close()


@asynccontextmanager
async def _served(exchange: Exchange, on_core: bool) -> AsyncIterator[tuple[int, Any]]:
    """A server that a test may stop early."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    ending = asyncio.Event()

    async def live() -> None:
        async with listening(exchange, "127.0.0.1:0", on_core=on_core) as port:
            ready.set_result(port)
            await ending.wait()

    task = asyncio.create_task(live())

    async def stop() -> None:
        ending.set()
        await task

    await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
    try:
        yield ready.result(), stop
    finally:
        await stop()


async def code_of(call: Awaitable[Any]) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    name: str = caught.value.code().name
    return name


def test_many_calls_at_once_get_each_its_own_answer(run: Any) -> None:
    async def test(world: World) -> None:
        arrays = [
            np.full((1 + i % 3, 3), i, np.float32) + np.float32([0, 0.25, 0.5]) for i in range(300)
        ]
        found = await asyncio.gather(*(world.predict(array) for array in arrays))
        for array, response in zip(arrays, found, strict=True):
            np.testing.assert_array_equal(decode_tensor(response.outputs["y"]), array * 2)
            assert response.model_spec.version.value == 7
        await world.settled(lambda: world.exchange.in_flight == 0)
        assert world.exchange.bytes_in_flight == 0
        assert world.count(OK) == 300

    run(test)


def test_infer_many_times(run: Any) -> None:
    def message(i: int) -> bytes:
        found = ModelInferRequest(model_name="m")
        found.inputs.add(name="x", datatype="FP32", shape=[1, 3])
        found.raw_input_contents.append(np.full((1, 3), i, np.float32).tobytes())
        return found.SerializeToString()

    async def test(world: World) -> None:
        call = world.channel.unary_unary(INFER, response_deserializer=ModelInferResponse.FromString)
        found = await asyncio.gather(*(call(message(i), timeout=WAIT_S) for i in range(100)))
        for i, response in enumerate(found):
            assert response.raw_output_contents == [np.full((1, 3), 2 * i, np.float32).tobytes()]
            assert (response.outputs[0].name, list(response.outputs[0].shape)) == ("y", [1, 3])
            assert response.model_version == "7"

    run(test)


def test_a_deadline_ends_a_call_that_waits_and_one_that_runs(run: Any) -> None:
    async def test(world: World) -> None:
        running = asyncio.ensure_future(code_of(world.predict([1], "gated", timeout=0.5)))
        await world.enter()
        assert await running == "DEADLINE_EXCEEDED"
        await world.settled(lambda: world.exchange.in_flight == 0)
        world.gate.open.set()
        # Whichever side notices first, the call is over and counted once.
        await world.settled(lambda: world.count(DEADLINE_EXCEEDED) + world.count(CANCELLED) == 1)

    run(test)


def test_a_call_that_its_client_cancels_never_runs(run: Any) -> None:
    async def test(world: World) -> None:
        holding = [asyncio.ensure_future(_result(world.predict([1], "gated"))) for _ in range(2)]
        await world.enter(2)  # both threads of the lane are busy
        waiting = [world.predict([1], "gated") for _ in range(3)]
        await world.settled(lambda: world.exchange.in_flight == 5)
        for call in waiting:
            call.cancel()
        await world.settled(lambda: world.exchange.in_flight == 2)
        assert world.count(CANCELLED) == 3
        world.gate.open.set()
        await asyncio.gather(*holding)
        assert world.gate.runs == 2
        assert world.count(OK) == 2

    run(test, run_threads=2)


async def _result(call: Any) -> Any:
    return await call


def test_a_client_that_disappears_takes_its_calls_with_it(run: Any) -> None:
    async def test(world: World) -> None:
        other = grpc.aio.insecure_channel(
            f"127.0.0.1:{world.port}", options=[("grpc.use_local_subchannel_pool", 1)]
        )
        call = other.unary_unary(PREDICT)
        tasks = [
            asyncio.ensure_future(_result(call(request([1], "gated"), timeout=WAIT_S)))
            for _ in range(3)
        ]
        await world.enter()
        await world.settled(lambda: world.exchange.in_flight == 3)
        await other.close()
        await world.settled(lambda: world.exchange.in_flight == 0)
        for task in tasks:
            task.cancel()
            with suppress(BaseException):
                await task
        response = await world.predict([[1, 2, 3]])
        assert list(response.outputs["y"].float_val) == [2, 4, 6]

    run(test, run_threads=1)


def test_methods_that_are_not_there_and_calls_without_a_message(run: Any) -> None:
    async def test(world: World) -> None:
        for path in ("/tensorflow.serving.PredictionService/None", "/none"):
            assert await code_of(world.channel.unary_unary(path)(b"")) == "UNIMPLEMENTED"
        if run.on_core:  # grpc.aio never answers it
            nothing = world.channel.stream_unary(PREDICT)(iter(()), timeout=WAIT_S)
            assert await code_of(nothing) == "UNIMPLEMENTED"
        response = await world.predict([[1, 2, 3]])
        assert list(response.outputs["y"].float_val) == [2, 4, 6]

    run(test)


def test_compressed_and_large_messages(run: Any) -> None:
    large = np.arange(3 * 2**18, dtype=np.float32).reshape(-1, 3)

    async def test(world: World) -> None:
        for array in (np.float32([[1, 2, 3]]), large):
            for _ in range(2):
                call = world.predict(array, compression=grpc.Compression.Gzip)
                found = decode_tensor((await call).outputs["y"])
                np.testing.assert_array_equal(found, array * 2)
        too_large = np.zeros((10**6, 3), np.float32)
        too_large[0] = 1
        assert await code_of(world.predict(too_large)) == "RESOURCE_EXHAUSTED"

    run(test)


def test_who_watches_requests_sees_each_with_its_peer_and_metadata(run: Any) -> None:
    seen: list[tuple[str, bytes | None, int]] = []

    def observe(exchanging: Exchanging, reply: Any, _: BaseException | None) -> None:
        request = exchanging.request
        seen.append((request.peer, request.headers.get(b"x-request-id"), len(reply.body)))

    async def test(world: World) -> None:
        world.exchange.observers.append(observe)
        for i in range(3):
            metadata = (("x-request-id", str(i)), ("extra-bin", b"\xff\x00"))
            response = await world.predict([[1, 2, 3]], metadata=metadata)
            assert list(response.outputs["y"].float_val) == [2, 4, 6]
        assert [name for _, name, _ in seen] == [b"0", b"1", b"2"]
        assert len({size for _, _, size in seen}) == 1
        assert all(peer.startswith("ipv4:127.0.0.1:") for peer, _, _ in seen)

    run(test)


def test_time_that_metadata_allow_holds_for_grpc_too(run: Any) -> None:
    async def test(world: World) -> None:
        metadata = (("x-request-timeout-ms", "100"),)
        for _ in range(2):  # the second is known by its form
            found = code_of(world.predict([1, 2], "gated", metadata=metadata))
            assert await found in ("DEADLINE_EXCEEDED", "UNAVAILABLE")
        wrong = (("x-request-timeout-ms", "soon"),)
        assert await code_of(world.predict([1, 2], "gated", metadata=wrong)) == "INVALID_ARGUMENT"

    run(test)


def test_overload_is_refused_at_once(run: Any) -> None:
    async def test(world: World) -> None:
        tasks = [asyncio.ensure_future(_result(world.predict([1], "gated"))) for _ in range(2)]
        await world.settled(lambda: world.exchange.in_flight == 2)
        assert await code_of(world.predict([1], "gated")) == "UNAVAILABLE"
        world.gate.open.set()
        await asyncio.gather(*tasks)

    run(test, max_concurrent_requests=2)


def test_health_is_listed_and_watched(run: Any) -> None:
    async def test(world: World) -> None:
        lists = world.channel.unary_unary(
            HEALTH + "List", response_deserializer=HealthListResponse.FromString
        )
        found = await lists(b"", timeout=WAIT_S)
        assert {name: one.status for name, one in found.statuses.items()} == {"": 1, "m": 1}
        watch = world.channel.unary_stream(
            HEALTH + "Watch", response_deserializer=HealthCheckResponse.FromString
        )
        calls = {
            name: watch(HealthCheckRequest(service=name).SerializeToString())
            for name in ("", "m", "none")
        }

        async def heard(name: str) -> int:
            async with asyncio.timeout(WAIT_S):
                return int((await calls[name].read()).status)

        assert [await heard(name) for name in calls] == [1, 1, 3]
        await asyncio.to_thread(world.exchange.repository.unload, "m")
        assert await heard("m") == 2
        await asyncio.to_thread(world.exchange.repository.load, "m")
        assert await heard("m") == 1
        calls["none"].cancel()
        stopping = asyncio.ensure_future(world.stop())
        # Before the server ends; a client may receive the end of its call earlier, as a status.
        with suppress(grpc.aio.AioRpcError):
            assert await heard("m") == 2
        async with asyncio.timeout(WAIT_S):
            await stopping  # an open stream does not delay it
        with suppress(grpc.aio.AioRpcError):  # there is no status before the last message
            while await calls[""].read() is not grpc.aio.EOF:
                pass
        assert await calls[""].code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)

    run(test)


def test_the_end_waits_for_answers(run: Any) -> None:
    async def test(world: World) -> None:
        last = asyncio.ensure_future(_result(world.predict([1, 2], "gated")))
        await world.enter()
        stopping = asyncio.ensure_future(world.stop())
        await asyncio.sleep(0.1)
        assert not stopping.done()
        world.gate.open.set()
        assert list((await last).outputs["y"].float_val) == [2, 3]
        async with asyncio.timeout(WAIT_S):
            await stopping
        assert await code_of(world.predict([1], timeout=2)) in ("UNAVAILABLE", "DEADLINE_EXCEEDED")

    run(test)


def test_the_end_comes_for_calls_that_do_not_end(run: Any) -> None:
    async def test(world: World) -> None:
        last = asyncio.ensure_future(code_of(world.predict([1, 2], "gated")))
        await world.enter()
        async with asyncio.timeout(WAIT_S):
            await world.stop()
        assert await last in ("UNAVAILABLE", "CANCELLED")
        await world.settled(lambda: world.exchange.in_flight == 0)

    run(test, drain_timeout_s=0.2)


def test_a_message_that_does_not_arrive_ends_its_call(run: Any) -> None:
    async def test(world: World) -> None:
        reader, writer = await http2.opened(world.port)
        path = http2.call("/tensorflow.serving.PredictionService/Predict")
        streams = (1, 3, 5)
        for stream in streams:
            writer.write(http2.frame(http2.HEADERS, http2.END_HEADERS, stream, path))
            writer.write(http2.frame(http2.DATA, 0, stream, http2.message(10**6) + b"x"))
        ended: dict[int, bytes] = {}
        while len(ended) < len(streams):
            kind, flags, stream, payload = await asyncio.wait_for(http2.next_frame(reader), 15)
            if kind == http2.HEADERS and flags & http2.END_STREAM:
                ended[stream] = payload
        writer.close()
        assert sorted(ended) == [1, 3, 5]
        # Two slow messages exceed the limit of all messages; the last one exceeds its time.
        assert b"arrive slowly" in ended[1]
        assert b"did not arrive within 4 s" in ended[5]
        assert await code_of(world.predict([1.0], "none")) == "FAILED_PRECONDITION"

    run(test, body_timeout_s=4.0, max_body_bytes=10**7, max_inflight_bytes=2 * 10**7)


def test_where_no_memory_is_left_messages_come_one_by_one(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(world: World) -> None:
        monkeypatch.setattr(world.exchange.room, "is_full", lambda: True)
        _, writer = await http2.opened(world.port)
        path = http2.call(PREDICT)
        streams: list[int] = []

        def begin() -> None:
            stream = 2 * len(streams) + 1
            streams.append(stream)
            writer.write(http2.frame(http2.HEADERS, http2.END_HEADERS, stream, path))
            writer.write(http2.frame(http2.DATA, 0, stream, http2.message(10**6) + b"x"))

        for _ in range(FEW_MESSAGES):
            begin()
        # The pending ones are as many as allowed, so that another one is refused.
        # One of them may itself have been refused while the server read our request, so begin more.
        await asyncio.wait_for(until(world, "no memory left", begin), WAIT_S)
        for stream in streams:
            writer.write(http2.frame(http2.RESET, 0, stream, b"\0\0\0\x08"))
        await asyncio.wait_for(until(world, ""), WAIT_S)
        writer.close()

    async def until(world: World, refusal: str, again: Callable[[], None] | None = None) -> None:
        """Send requests until one is answered, or refused with this error."""
        while True:
            seen = ""
            try:
                response = await world.predict([[1.0, 2.0, 3.0]])
                assert decode_tensor(response.outputs["y"]).tolist() == [[2.0, 4.0, 6.0]]
            except grpc.aio.AioRpcError as error:
                seen = error.details() or "no details"
            assert "no memory left" in seen or not seen
            if bool(seen) == bool(refusal):
                return
            if again is not None:
                again()

    run(test)


async def is_open(reader: asyncio.StreamReader) -> bool:
    """Whether the other side keeps a connection open after its last data."""
    with suppress(TimeoutError):
        try:
            while await asyncio.wait_for(reader.read(2**12), 0.5):
                pass
        except ConnectionError:
            pass
        return False
    return True


def test_connections_are_bounded_and_idle_ones_make_room(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinnace.serving.grpc.listening._IDLE_S", 3.0)

    async def test(world: World) -> None:
        found = [await http2.opened(world.port) for _ in range(6)]
        assert [await is_open(reader) for reader, _ in found] == [True] * 3 + [False] * 3
        # Clients wait for room, which there is as soon as the others are idle.
        answer = await world.predict([[1, 2, 3]], timeout=WAIT_S, wait_for_ready=True)
        assert list(answer.outputs["y"].float_val) == [2, 4, 6]
        assert not await is_open(found[0][0])
        for _, writer in found:
            writer.close()

    run(test, max_connections=3)


def test_those_who_watch_are_bounded(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinnace.serving.grpc.health._MOST_WATCHING", 2)

    async def test(world: World) -> None:
        watch = world.channel.unary_stream(HEALTH + "Watch")
        first, second = watch(b""), watch(b"")
        for call in (first, second):
            assert await call.read() is not grpc.aio.EOF
        assert await code_of(watch(b"").read()) == "UNAVAILABLE"
        first.cancel()
        async with asyncio.timeout(WAIT_S):
            while True:
                with suppress(grpc.aio.AioRpcError):
                    assert await watch(b"").read()
                    break
        silent = world.channel.stream_stream(HEALTH + "Watch")()
        second.cancel()
        assert await silent.code() in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.DEADLINE_EXCEEDED,
        )

    run(test, body_timeout_s=1.0)


def test_a_message_without_memory_ends_its_call_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """grpcio's core raises when a message becomes bytes: on the loop, and in its thread."""
    lose: list[None] = []

    class Queue(core_server.cygrpc.CompletionQueue):  # type: ignore[misc]
        def poll(self, *arguments: Any) -> Any:
            event = super().poll(*arguments)
            first = next(iter(getattr(event, "batch_operations", None) or ()), None)
            if lose and isinstance(first, core_server.cygrpc.ReceiveMessageOperation):
                lose.clear()
                raise MemoryError
            return event

    monkeypatch.setattr(core_server.cygrpc, "CompletionQueue", Queue)

    async def test(world: World) -> None:
        for _ in range(4):
            lose.append(None)
            assert await code_of(world.predict([[1, 2, 3]], timeout=0.5)) == "DEADLINE_EXCEEDED"
            answer = await world.predict([[1, 2, 3]])
            assert list(answer.outputs["y"].float_val) == [2, 4, 6]

    with caplog.at_level(logging.ERROR):
        asyncio.run(_run(test, True, tmp_path, {}))
    assert caplog.text.count("no memory for a gRPC message") == 4


def test_an_address_that_cannot_be_used_is_said(run: Any) -> None:
    async def test(world: World) -> None:
        with pytest.raises(Exception, match=r"gRPC address 192\.0\.2\.1:1 cannot be used"):
            async with listening(world.exchange, "192.0.2.1:1", on_core=run.on_core):
                raise AssertionError

    run(test)


def test_another_core_is_left_to_grpc_aio(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert acceleration.grpc_server() is core_server.CoreServer
    monkeypatch.setitem(core_server._NEEDED, "CompletionQueue", ("poll", "what it never had"))
    with caplog.at_level(logging.WARNING):
        assert acceleration.grpc_server() is None
    assert "another core" in caplog.text
