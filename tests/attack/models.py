"""Models and requests that use as much time and memory as they can."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from attack.bodies import GRPC_INFER, GRPC_PREDICT
from attack.sending import Sender
from attack.world import rows
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from support.changed_models import write_changed

if TYPE_CHECKING:
    from pathlib import Path

    from attack.world import World

PREDICT = "/v1/models/victim:predict"


def _asked(signature: str, *values: Any) -> bytes:
    return json.dumps({"signature_name": signature, "instances": list(values)}).encode()


async def _at_once(world: World, count: int, data: bytes, headers: dict[str, str]) -> Counter[str]:
    async def ask() -> str:
        async with Sender(world) as sender:
            return str(await sender.post(PREDICT, data, headers, is_hot=True))

    return Counter(await asyncio.gather(*(ask() for _ in range(count))))


async def endless(world: World, _: float) -> Counter[str]:
    """Endless loops, twice as many as there are threads."""
    found = await _at_once(world, 8, _asked("loop", 0.0), {"X-Request-Timeout-Ms": "1000"})
    async with Sender(world) as sender:  # the model itself answers as soon as they end
        code = await sender.post(PREDICT, _asked("loop", 3.0), is_hot=True)
    found[str(code) if code == 200 else f"!afterwards {code}"] += 1
    return found


async def growing(world: World, _: float) -> Counter[str]:
    """A tensor of forty gigabytes."""
    async with Sender(world) as sender:
        code = await sender.post(PREDICT, _asked("grow", 1e5), is_hot=True)
    return Counter([str(code) if code == 429 else f"!{code}"])


async def answers(world: World, seconds: float) -> Counter[str]:
    """Short requests for a response of a gigabyte, as text and as bytes, and for 40 MB."""
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds
    npy = {"Accept": "application/x-npy"}
    async with Asker(world) as sender:
        while not statuses or time.monotonic() < end:
            for count, headers in ((3e8, {}), (3e8, npy), (1e8, npy), (4e6, {}), (1e7, npy)):
                data = json.dumps({"signature_name": "view", "inputs": [count]}).encode()
                code = await sender.post(PREDICT, data, headers, is_hot=True)
                is_right = code == (429 if count >= 1e8 else 200)
                statuses[str(code) if is_right else f"!{count:.0f} numbers: {code}"] += 1
            for path, message in _views(3e8):
                status = await sender.call(path, message)
                statuses[status if status == "RESOURCE_EXHAUSTED" else f"!{status}"] += 1
    return statuses


async def long_answers(world: World, seconds: float) -> Counter[str]:
    """Permitted responses of a hundred megabytes and more, over every protocol."""
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds
    data = json.dumps({"signature_name": "view", "inputs": [2e7]}).encode()
    async with Asker(world) as sender:
        while not statuses or time.monotonic() < end:
            for headers in ({}, {"Accept": "application/x-npy"}):
                code = await sender.post(PREDICT, data, headers, is_hot=True)
                statuses[str(code) if code == 200 else f"!{code}"] += 1
            for path, message in _views(3e7):
                status = await sender.call(path, message)
                statuses[status if status == "OK" else f"!{status}"] += 1
    return statuses


def _views(count: float) -> list[tuple[str, bytes]]:
    """gRPC calls that ask for this many numbers each, of four bytes or as text of equal size."""
    found = []
    for signature, x in (
        ("view", np.float32([count])),
        ("whole", np.int32([2**28 - 1, int(count)])),
        ("whole", np.int32([-1, int(count / 3)])),
    ):
        request = PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = "victim", signature
        request.inputs["x"].CopyFrom(encode_tensor(x))
        found.append((GRPC_PREDICT, request.SerializeToString()))
        asked = v2.ModelInferRequest(model_name="victim")
        asked.parameters["signature_name"].string_param = signature
        kind = "FP32" if signature == "view" else "INT32"
        asked.inputs.add(name="x", datatype=kind, shape=x.shape)
        asked.raw_input_contents.append(x.tobytes())
        if x[0] > 0:  # there, all numbers have four bytes
            found.append((GRPC_INFER, asked.SerializeToString()))
    return found


async def patterns(world: World, seconds: float) -> Counter[str]:
    """Texts on which a pattern backtracks exponentially, and long texts to be split."""
    texts = [
        _asked("match", "a" * 60 + "b"),
        _asked("match", " " * 200_000),
        _asked("words", "a " * 200_000),
        _asked("words", " " * 400_000),
    ]
    statuses: Counter[str] = Counter()
    end = time.monotonic() + seconds
    async with Sender(world) as sender:
        while not statuses or time.monotonic() < end:
            for data in texts:
                code = await sender.post(PREDICT, data, is_hot=True)
                statuses[str(code) if code == 200 else f"!{code}"] += 1
    return statuses


async def meeting(world: World, seconds: float) -> Counter[str]:
    """Concurrent requests to a model whose rows interact: each gets the same answer as alone."""
    statuses: Counter[str] = Counter()
    x = rows(24)
    end = time.monotonic() + seconds

    async def ask(sender: Sender, i: int) -> None:
        part = x[i : i + 3]
        answer = await sender.ask("meet", part)
        right = np.allclose(answer, part - part.mean(axis=0), atol=1e-4)
        statuses["alike" if right else "!another answer than alone"] += 1

    senders = [Asker(world) for _ in range(8)]
    for sender in senders:
        await sender.__aenter__()
    try:
        while not statuses or time.monotonic() < end:
            await asyncio.gather(*(ask(one, 2 * i) for i, one in enumerate(senders)))
    finally:
        for sender in senders:
            await sender.__aexit__()
    return statuses


class Asker(Sender):
    """A sender that reads responses."""

    async def ask(self, signature: str, x: np.ndarray) -> np.ndarray:
        """The response of a signature."""
        request = PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = "victim", signature
        request.inputs["x"].CopyFrom(encode_tensor(x))
        data = await self._channel.unary_unary(GRPC_PREDICT)(request.SerializeToString())
        return np.array(decode_tensor(PredictResponse.FromString(data).outputs["y"]))


async def broken_versions(world: World, _: float) -> Counter[str]:
    """Versions with an unknown op, and truncated ones: the working version stays."""
    from pinnace.proto.saved_model_pb2 import SavedModel

    base = world.folder / "victim"
    statuses: Counter[str] = Counter()
    for number, change in ((2, "cut"), (3, "op")):
        part = world.folder / "part"
        shutil.copytree(base / "1", part)
        path = part / "saved_model.pb"
        message = SavedModel.FromString(path.read_bytes())
        for function in message.meta_graphs[0].graph_def.library.function:
            for node in function.node_def:
                node.op = "Nobody>Knows" if node.op == "Mul" else node.op
        data = message.SerializeToString()
        write_changed(path, data if change == "op" else data[: len(data) // 2])
        part.rename(base / str(number))
    states: list[str] = []
    async with Sender(world) as sender:
        for _ in range(200):
            await asyncio.sleep(0.05)
            states = [s["state"] for s in await _status(world)]
            if len(states) >= 2 and "LOADING" not in states:
                break
        code = await sender.post(PREDICT, _asked("copy", 2.0), is_hot=True)
        good = states[0] == "END" and states[-1] == "AVAILABLE" and code == 200
        statuses["refused" if good else f"!{states} {code}"] += 1
        for number in (2, 3):
            shutil.rmtree(base / str(number))
        for _ in range(200):
            await asyncio.sleep(0.05)
            if len(await _status(world)) == 1:
                break
        statuses["forgotten" if len(await _status(world)) == 1 else "!remembered"] += 1
    return statuses


async def links(world: World, _: float) -> Counter[str]:
    """Versions with links to files of the server: none of them is served."""
    from support.linked_models import REFUSED, save_words

    base, outside = world.folder / "victim", world.folder / "outside"
    numbers = range(10, 10 + len(REFUSED))
    model = save_words(world.folder / "words")
    for number, (_named, change) in zip(numbers, REFUSED.values(), strict=True):
        elsewhere = outside / str(number)
        elsewhere.mkdir(parents=True)
        (elsewhere / "secret.txt").write_text("secret")
        stage = world.folder / "stage" / str(number)
        shutil.copytree(model, stage)
        change(stage, elsewhere)
        stage.rename(base / stage.name)
        # The newest version is loaded: the next one waits until this one was tried.
        for _try in range(200):
            states = {s["version"]: s["state"] for s in await _status(world)}
            if states.get(stage.name) in ("AVAILABLE", "END"):
                break
            await asyncio.sleep(0.05)
    states = {s["version"]: s["state"] for s in await _status(world)}
    statuses = Counter(
        "refused" if states.get(str(number)) == "END" else f"!{kind}: {states.get(str(number))}"
        for number, kind in zip(numbers, REFUSED, strict=True)
    )
    async with Sender(world) as sender:
        code = await sender.post(PREDICT, _asked("copy", 2.0), is_hot=True)
    statuses[str(code) if code == 200 else f"!afterwards {code}"] += 1
    for number in numbers:
        path = base / str(number)
        path.unlink() if path.is_symlink() else shutil.rmtree(path)
    return statuses


async def hungry(world: World, _: float) -> Counter[str]:
    """A version that allocates half a gigabyte while it is loaded."""
    from support.hungry_models import save_hungry

    stage = save_hungry(world.folder / "stage" / "100", side=12_000)
    stage.rename(world.folder / "victim" / stage.name)
    state = ""
    for _try in range(400):
        await asyncio.sleep(0.05)
        state = {s["version"]: s["state"] for s in await _status(world)}.get(stage.name, "")
        if state in ("AVAILABLE", "END"):
            break
    shutil.rmtree(world.folder / "victim" / stage.name)
    async with Sender(world) as sender:
        code = await sender.post(PREDICT, _asked("copy", 2.0), is_hot=True)
    return Counter([("refused" if state == "END" else f"!{state}"), str(code)])


async def _status(world: World) -> list[dict[str, Any]]:
    import urllib.request

    def read() -> list[dict[str, Any]]:
        url = f"{world.scheme}://127.0.0.1:{world.http}/v1/models/victim"
        with urllib.request.urlopen(url, timeout=20) as reply:
            found: list[dict[str, Any]] = json.load(reply)["model_version_status"]
        return found

    return await asyncio.to_thread(read)


CLOCK = """
import signal, sys, time
real, offset = time.time, [0.0]
time.time = lambda: real() + offset[0]
signal.signal(signal.SIGUSR1, lambda *_: offset.__setitem__(0, offset[0] + 86400.0))
signal.signal(signal.SIGUSR2, lambda *_: offset.__setitem__(0, offset[0] - 2 * 86400.0))
from pinnace.serving.command import main
sys.exit(main(sys.argv[1:]))
"""


async def clock(world: World, _: float) -> Counter[str]:
    """The system clock jumps a day forward, and two back, while a loop reaches its time limit."""
    import signal

    task = asyncio.ensure_future(endless(world, 0.0))
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        await asyncio.sleep(0.3)
        world.process.send_signal(number)
    return await task


ATTACKS = {
    "loops that never end": endless,
    "a tensor of forty gigabytes": growing,
    "answers of a gigabyte": answers,
    "answers of a hundred megabytes": long_answers,
    "patterns and long texts": patterns,
    "rows that meet": meeting,
    "versions that cannot run": broken_versions,
    "links out of a model": links,
}


# Their responses are that long, so they use the memory that they ask for.
LONG = frozenset({"answers of a hundred megabytes"})


def _clock(_: Path) -> dict[str, Any]:
    return {"program": ("-c", CLOCK)}


async def full(world: World, seconds: float) -> Counter[str]:
    """Runs and bodies that together need far more memory than the process may have."""
    statuses: Counter[str] = Counter()
    body = json.dumps({"signature_name": "copy", "instances": [0.25] * 2**22}).encode()
    tensor = PredictRequest()
    tensor.model_spec.name, tensor.model_spec.signature_name = "victim", "copy"
    tensor.inputs["x"].CopyFrom(encode_tensor(np.arange(2**23, dtype=np.float32)))
    message = tensor.SerializeToString()

    async def ask(number: int) -> None:
        async with Sender(world) as sender:
            end = time.monotonic() + seconds
            while True:
                if number % 3 == 0:
                    sent = sender.post(PREDICT, _asked("grow", 8000.0 + number), is_hot=True)
                elif number % 3 == 1:
                    sent = sender.post(PREDICT, body, is_hot=number % 2 == 0)
                else:
                    sent = sender.call(GRPC_PREDICT, message)
                status = str(await sent)
                statuses[status if status in _NO_MEMORY else f"!{status}"] += 1
                if time.monotonic() > end:
                    return

    await asyncio.gather(*(ask(number) for number in range(18)))
    try:
        async with Sender(world) as sender:
            code = str(await sender.post(PREDICT, _asked("copy", 2.0), is_hot=True))
    except ConnectionError:
        code = "nobody listens"
    statuses[code if code == "200" else f"!afterwards {code}"] += 1
    return statuses


# If a request is refused before its body was read, the client may see only that the connection
# closes.
_NO_MEMORY = {"200", "429", "503", "504", "0", "OK", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}

# Seen once in five runs: if memory runs out inside a library that cannot handle it (gRPC), the
# process ends. The full form shows this; the short form must give the same result each time.
MAY_END_THE_SERVER = frozenset({"no memory is left"})

OTHERS: dict[str, Any] = {
    "clock jumps": (clock, _clock, ["--max_run_ms=2000"]),
    "a version that takes memory to load": (
        hungry,
        lambda _: {},
        ["--max_run_bytes=100000000", "--file_system_poll_wait_seconds=0.2"],
    ),
    "no memory is left": (full, lambda _: {"memory": 1600 * 2**20}, []),
}
