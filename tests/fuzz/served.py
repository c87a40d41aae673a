"""Damage requests in many ways and send them to a running server: both HTTP front ends, and gRPC.

    python -m fuzz.served [--requests 100000] [--seed 0] [--only NUMBER]

Request NUMBER of a seed is always the same: `--only` sends it alone and prints the response.
Findings are: a status 5xx other than 503 and 504 (or UNKNOWN, INTERNAL, UNIMPLEMENTED, DATA_LOSS in
gRPC), a traceback in the server's log, a server that ends or does not respond, and memory that is
not freed.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import copy
import gzip
import io
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import grpc
import numpy as np

from attack.bodies import (
    GRPC_CLASSIFY,
    GRPC_INFER,
    GRPC_MULTI,
    GRPC_PREDICT,
    INFER,
    PREDICT,
    Body,
)
from attack.world import save_models, world
from fuzz.mutations import changed, changed_json, damaged
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.inference_pb2 import (
    ClassificationRequest,
    MultiInferenceRequest,
    RegressionRequest,
)
from pinnace.proto.model_service_pb2 import GetModelMetadataRequest, GetModelStatusRequest
from pinnace.proto.predict_pb2 import PredictRequest

if TYPE_CHECKING:
    from attack.world import World

CLIENTS = 8
WAIT_S = 30.0
GROWN = 96 << 20  # what compilers, caches and clients' connections may keep
FAULTS = frozenset({"UNKNOWN", "INTERNAL", "UNIMPLEMENTED", "DATA_LOSS", "NO ANSWER"})
GOOD_CODES = frozenset({503, 504})
SHOWN = 20
_MODEL_SERVICE = "/tensorflow.serving.ModelService/GetModelStatus"
_METADATA = "/tensorflow.serving.PredictionService/GetModelMetadata"
_REGRESS = "/tensorflow.serving.PredictionService/Regress"

X = np.arange(6, dtype=np.float32)


def documents() -> list[tuple[str, Any]]:
    """Valid JSON requests."""
    examples = [{"a": 1, "b": [1.5, 2.5], "c": "x"}, {"d": {"b64": "AAEC"}}]
    tensor = {"name": "x", "shape": [2, 3], "datatype": "FP32", "data": X.tolist()}
    texts = {"name": "inputs", "shape": [2], "datatype": "BYTES", "data": ["a", "bc"]}
    return [
        (PREDICT, {"instances": X.tolist()}),
        (PREDICT, {"signature_name": "meet", "instances": np.ones((3, 4)).tolist()}),
        (PREDICT, {"signature_name": "copy", "inputs": {"x": X.reshape(2, 3).tolist()}}),
        (PREDICT, {"signature_name": "text", "instances": ["a", {"b64": "AAEC"}]}),
        (PREDICT.replace("predict", "regress"), {"signature_name": "text", "examples": examples}),
        (
            PREDICT.replace("predict", "classify"),
            {"signature_name": "text", "context": examples[0], "examples": examples},
        ),
        (INFER, {"id": "7", "inputs": [tensor], "outputs": [{"name": "y"}]}),
        (INFER, {"inputs": [texts], "parameters": {"signature_name": "text"}}),
        (INFER, {"inputs": [tensor], "parameters": {"binary_data_output": True}}),
    ]


def messages() -> list[tuple[str, Any]]:
    """Valid gRPC requests."""
    predict, filled, texts = PredictRequest(), PredictRequest(), PredictRequest()
    predict.model_spec.name = filled.model_spec.name = texts.model_spec.name = "victim"
    predict.inputs["x"].CopyFrom(encode_tensor(X.reshape(2, 3)))
    filled.inputs["x"].dtype = 1
    filled.inputs["x"].float_val.append(1.5)
    filled.inputs["x"].tensor_shape.dim.add(size=100)
    texts.model_spec.signature_name = "text"
    texts.inputs["inputs"].CopyFrom(encode_tensor(np.array([b"a", b"bc"], object)))
    classify, regress, several = (
        ClassificationRequest(),
        RegressionRequest(),
        MultiInferenceRequest(),
    )
    for one in (classify, regress):
        one.model_spec.name, one.model_spec.signature_name = "victim", "text"
        example = one.input.example_list.examples.add()
        example.features.feature["a"].float_list.value.extend([1.0, 2.0])
    task = several.tasks.add(method_name="tensorflow/serving/regress")
    task.model_spec.CopyFrom(regress.model_spec)
    several.input.CopyFrom(regress.input)
    raw = v2.ModelInferRequest(model_name="victim", raw_input_contents=[X.tobytes()])
    raw.inputs.add(name="x", datatype="FP32", shape=[2, 3])
    typed = v2.ModelInferRequest(model_name="victim")
    typed.inputs.add(name="x", datatype="FP32", shape=[6]).contents.fp32_contents.extend(X.tolist())
    status, metadata = GetModelStatusRequest(), GetModelMetadataRequest()
    status.model_spec.name = metadata.model_spec.name = "victim"
    metadata.metadata_field.append("signature_def")
    return [
        *((GRPC_PREDICT, one) for one in (predict, filled, texts)),
        (GRPC_CLASSIFY, classify),
        (_REGRESS, regress),
        (GRPC_MULTI, several),
        *((GRPC_INFER, one) for one in (raw, typed)),
        (_MODEL_SERVICE, status),
        (_METADATA, metadata),
    ]


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue()


class Requests:
    """The requests to damage."""

    def __init__(self) -> None:
        self._documents = documents()
        self._messages = messages()
        self._npy = _npy()

    def one(self, draw: random.Random) -> tuple[Body, bool, bytes]:
        """A damaged request, whether the hot front end gets it, and its header block if damaged."""
        kind = draw.randrange(8)
        other = json.dumps(draw.choice(self._documents)[1]).encode()
        if kind < 3:
            return self._message(draw), False, b""
        headers: dict[str, str] = {}
        if kind == 3:
            data = damaged(draw, self._npy, other)
            headers = {"Content-Type": "application/x-npy"}
            if draw.random() < 0.5:
                headers["Accept"] = "application/x-npy"
            body = Body("npy", PREDICT, data, headers)
        elif kind == 4:
            body = self._binary(draw, other)
        else:
            path, document = draw.choice(self._documents)
            if draw.random() < 0.6:
                document = copy.deepcopy(document)
                changed_json(draw, document)
            data = json.dumps(document).encode()
            if draw.random() < 0.5:
                data = damaged(draw, data, other)
            body = Body("json", path, data)
        if draw.random() < 0.1:
            packed = gzip.compress(body.data, 1)
            if draw.random() < 0.7:
                packed = damaged(draw, packed, other)
            encoding = draw.choice(("gzip", "deflate", "gzip, gzip", "br"))
            body = Body(
                body.name, body.path, packed, {**body.headers, "Content-Encoding": encoding}
            )
        head = b""
        if draw.random() < 0.05:
            head = damaged(draw, head_of(body, is_hot=False), other)
        return body, draw.random() < 0.5, head

    def _message(self, draw: random.Random) -> Body:
        path, message = draw.choice(self._messages)
        kind = type(message)
        message = kind.FromString(message.SerializeToString())
        if draw.random() < 0.7:
            changed(draw, message)
        data = message.SerializeToString()
        if draw.random() < 0.4:
            data = damaged(draw, data, draw.choice(self._messages)[1].SerializeToString())
        return Body("message", path, data)

    def _binary(self, draw: random.Random, other: bytes) -> Body:
        tensor: dict[str, Any] = {"name": "x", "shape": [2, 3], "datatype": "FP32"}
        tensor["parameters"] = {"binary_data_size": X.nbytes}
        head = json.dumps(
            {"inputs": [tensor], "parameters": {"binary_data_output": draw.random() < 0.5}}
        ).encode()
        length = len(head)
        if draw.random() < 0.6:
            head = damaged(draw, head, other)
        if draw.random() < 0.7:
            length = len(head)
        data = head + X.tobytes()
        return Body("binary", INFER, data, {"Inference-Header-Content-Length": str(length)})


def head_of(body: Body, *, is_hot: bool) -> bytes:
    """The header block of an HTTP request."""
    lines = [
        *(f"POST {body.path} HTTP/1.1", "host: localhost", f"content-length: {len(body.data)}"),
        *(f"{name}: {value}" for name, value in body.headers.items()),
        *(() if is_hot else ("te: trailers",)),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class Client:
    """One connection of each kind."""

    def __init__(self, one: World) -> None:
        self._world = one
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{one.grpc}")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def close(self) -> None:
        """Close all connections."""
        self._leave()
        await self._channel.close()

    async def send(self, body: Body, is_hot: bool, head: bytes) -> tuple[str, bytes]:
        """The status of the response, and its text."""
        if body.is_grpc:
            try:
                await self._channel.unary_unary(body.path)(body.data, timeout=WAIT_S)
            except grpc.aio.AioRpcError as error:
                return error.code().name, (error.details() or "").encode()
            return "OK", b""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._world.http)
        reader, writer = self._streams
        writer.write((head or head_of(body, is_hot=is_hot)) + body.data)
        if head:  # it may announce more bytes than it sends
            writer.write_eof()
        try:
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)
            found = answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
            said = await asyncio.wait_for(reader.readexactly(int(found or 0)), WAIT_S)
        except TimeoutError:
            self._leave()
            return "NO ANSWER", b""
        except (asyncio.IncompleteReadError, ConnectionError):
            self._leave()
            return "closed", b""
        if head or b"connection: close" in answer.lower():
            self._leave()
        return answer.split(b" ", 2)[1].decode(), said

    def _leave(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def is_fault(status: str) -> bool:
    """Whether no request may have this status."""
    if status.isdigit():
        return int(status) >= 500 and int(status) not in GOOD_CODES
    return status in FAULTS


async def sent(
    one: World, requests: int, seed: int, findings: list[str]
) -> collections.Counter[str]:
    """Send this many requests from several concurrent clients; returns the counts of statuses."""
    counts: collections.Counter[str] = collections.Counter()
    numbers = iter(range(requests))
    made = Requests()

    async def work() -> None:
        client = Client(one)
        for number in numbers:
            draw = random.Random(f"{seed}/{number}")
            body, is_hot, head = made.one(draw)
            try:
                status, said = await client.send(body, is_hot, head)
            except OSError:
                findings.append(f"request {number}: the server cannot be reached")
                return
            counts[f"{body.name} {status}"] += 1
            # TensorFlow Serving's status for a method that MultiInference does not have.
            is_told = status == "UNIMPLEMENTED" and said.startswith(b"Unsupported signature method")
            if is_fault(status) and not is_told:
                text = said[:300].decode("utf-8", "replace")
                findings.append(f"request {number} {body.path}: {status} {text}")
            if len(findings) > 1000 or one.process.poll() is not None:
                return
        await client.close()

    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    return counts


async def run(requests: int, seed: int) -> int:
    """Send the requests and check the results; returns the exit code."""
    began = time.monotonic()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        save_models(Path(scratch))
        with world(Path(scratch), ["--max_run_ms=2000"], probes=False) as one:
            await sent(one, min(requests, 500), seed + 1, [])  # warm-up is over
            await asyncio.sleep(1.0)
            held = one.memory()
            counts = await sent(one, requests, seed, findings)
            for _ in range(20):
                await asyncio.sleep(0.5)
                grown = one.memory() - held
                if grown < GROWN:
                    break
            if grown >= GROWN:
                findings.append(f"{grown >> 20} MB are not given back")
            if one.tracebacks():
                log = one.log.read_text(errors="replace")
                findings.append(log[max(log.find("Traceback") - 300, 0) :][:3000])
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"  {name:<40}{count:>9}\n")
    for finding in findings[:SHOWN]:
        sys.stdout.write(f"{finding}\n")
    sys.stdout.write(
        f"{sum(counts.values())} requests with seed {seed} in {time.monotonic() - began:.0f} s: "
        f"{len(findings)} findings, {grown >> 20} MB more than before\n"
    )
    return 1 if findings or sum(counts.values()) < requests else 0


async def send_one(seed: int, number: int) -> int:
    """Send one request and print the response; returns the exit code."""
    body, is_hot, head = Requests().one(random.Random(f"{seed}/{number}"))
    with tempfile.TemporaryDirectory() as scratch:
        save_models(Path(scratch))
        with world(Path(scratch), ["--max_run_ms=2000"], probes=False) as one:
            client = Client(one)
            status, said = await client.send(body, is_hot, head)
            await client.close()
            await asyncio.sleep(0.5)
            sys.stdout.write(f"{body}\n{status} {said!r}\n{one.log.read_text(errors='replace')}")
    return 1 if is_fault(status) else 0


def main() -> int:
    """Send damaged requests to a server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    if given.only is not None:
        return asyncio.run(send_one(given.seed, given.only))
    return asyncio.run(run(given.requests, given.seed))


if __name__ == "__main__":
    sys.exit(main())
