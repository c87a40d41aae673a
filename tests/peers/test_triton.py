"""Triton's example programs against this server; `make peer-serving` writes their count."""

from __future__ import annotations

import asyncio
import mmap
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import pinnace as tf
from peers.guide import hold
from peers.triton import DIFFERENT, EXAMPLES, NOT_HERE, Asking
from pinnace.proto import inference_service_pb2 as v2
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.application import create_app
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

grpc = pytest.importorskip("grpc")
from pinnace.serving.grpc.listening import listening  # noqa: E402 - needs grpcio

SERVICE = "/inference.GRPCInferenceService/"
MODELS = (
    *("simple", "simple_int8", "simple_string", "simple_identity", "simple_sequence"),
    "picture",
)


def _model(name: str) -> tf.Module:
    """The model of this name in Triton's test repository."""
    module = tf.Module()

    def both(a: Any, b: Any) -> dict[str, Any]:
        return {"OUTPUT0": a + b, "OUTPUT1": a - b}

    def spec(place: int, dtype: Any) -> tf.TensorSpec:
        return tf.TensorSpec([None, 16], dtype, name=f"INPUT{place}")

    if name == "picture":
        picture = tf.TensorSpec([3, 224, 224], tf.float32, name="data_0")

        def classes(x: Any) -> dict[str, Any]:
            return {"fc6_1": tf.constant([1.0, 2.0, 3.0]) + tf.reduce_sum(x) * 0.0}

        module.serve = tf.function(classes, input_signature=[picture])
    elif name == "simple_identity":

        def same(x: Any) -> dict[str, Any]:
            return {"OUTPUT0": tf.identity(x)}

        module.serve = tf.function(same, input_signature=[spec(0, tf.string)])
    elif name == "simple_string":

        def numbers(a: Any, b: Any) -> dict[str, Any]:
            found = both(*[tf.strings.to_number(x, tf.int32) for x in (a, b)])
            return {key: tf.strings.as_string(value) for key, value in found.items()}

        specs = [spec(0, tf.string), spec(1, tf.string)]
        module.serve = tf.function(numbers, input_signature=specs)
    else:
        dtype = tf.int8 if name == "simple_int8" else tf.int32
        module.serve = tf.function(both, input_signature=[spec(0, dtype), spec(1, dtype)])
    return module


def _first_more() -> tf.Module:
    """Triton's `simple_sequence`: adds one to the first request of a sequence."""
    module = tf.Module()
    module.first = tf.Variable(1)

    def serve(x: Any) -> dict[str, Any]:
        found = x + module.first
        module.first.assign(0)
        return {"OUTPUT": found}

    spec = tf.TensorSpec([None, 1], tf.int32, name="INPUT")
    module.serve = tf.function(serve, input_signature=[spec])
    return module


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository with Triton's models."""
    base = tmp_path_factory.mktemp("models")
    for name in MODELS:
        module = _first_more() if name == "simple_sequence" else _model(name)
        tf.saved_model.save(module, str(base / name / "1"), signatures=module.serve)
    settings = Settings(
        models=tuple(ModelConfig(name, str(base / name)) for name in MODELS),
        file_system_poll_s=0,
        shared_memory=True,
        model_control=True,
    )
    repository = Repository(settings, load_model)
    repository.start()
    yield repository
    repository.close()


async def problems(repository: Repository, names: list[str]) -> dict[str, str]:
    """Why programs would fail, by name."""
    app = create_app(repository._settings, repository)
    objects: list[tuple[Path, mmap.mmap]] = []

    def memory(name: str, size: int) -> tuple[str, mmap.mmap]:
        path = Path(f"/dev/shm/pinnace-{name}-{secrets.token_hex(4)}")
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(file, size)
        objects.append((path, mmap.mmap(file, size)))
        os.close(file)
        return f"/{path.name}", objects[-1][1]

    async def refused(call: Awaitable[Any]) -> tuple[str, str]:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        return caught.value.code().name, caught.value.details() or ""

    found = {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    options = [("grpc.keepalive_time_ms", 20_000), ("grpc.http2.max_pings_without_data", 2)]
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client,
        listening(app.state.exchange, "127.0.0.1:0") as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel,
    ):

        async def call(method: str, message: Any) -> bytes:
            answer = channel.unary_unary(SERVICE + method)
            data: bytes = await answer(message.SerializeToString(), timeout=60)
            return data

        async def stream(messages: list[Any]) -> list[Any]:
            open_call = channel.stream_stream(
                SERVICE + "ModelStreamInfer",
                response_deserializer=v2.ModelStreamInferResponse.FromString,
            )(timeout=60)
            for message in messages:
                await open_call.write(message.SerializeToString())
            await open_call.done_writing()
            return [answer async for answer in open_call]

        asking = Asking(client, call, stream, refused, memory)
        try:
            for name in names:
                try:
                    await EXAMPLES[name](asking)
                except (AssertionError, grpc.aio.AioRpcError) as error:
                    found[name] = str(error)[:300]
        finally:
            for path, view in objects:
                view.close()
                path.unlink()
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_program_finds_what_it_looks_for(repository: Repository, name: str) -> None:
    assert asyncio.run(problems(repository, [name])).keys() == {name} & DIFFERENT.keys()


def test_what_differs_is_refused_by_name(repository: Repository) -> None:
    found = asyncio.run(problems(repository, list(DIFFERENT)))
    for name, said in found.items():
        if "control" in name:
            assert "parameter 'config' of a load is not supported" in said
        else:
            assert said == "the server is pinnace"


def test_the_guide_has_these_counts(repository: Repository) -> None:
    different = asyncio.run(problems(repository, list(EXAMPLES)))
    asked = len(EXAMPLES) + len(NOT_HERE)
    right = len(EXAMPLES) - len(different)
    lines = [f"{asked} programs, {right} find what they look for. The others:", ""]
    lines += [f"- `{name}`: {DIFFERENT[name]}" for name in different]
    hold(
        "triton.md", "examples", [*lines, *(f"- `{name}`: {why}" for name, why in NOT_HERE.items())]
    )
