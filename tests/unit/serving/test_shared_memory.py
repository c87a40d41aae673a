"""Tensors in shared memory: objects of /dev/shm that clients register by name, as with Triton."""

from __future__ import annotations

import json
import mmap
import os
import secrets
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace.framework.errors import InvalidArgumentError
from pinnace.proto import inference_service_pb2 as v2
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.requests import regions
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import every_kind, read_version, write_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

SYSTEM = "/v2/systemsharedmemory"
SIZE = 4096
X = np.float32([1, 2, 5])
Y = X / 2 + 2

pytestmark = pytest.mark.skipif(not Path(regions.FOLDER).is_dir(), reason="POSIX shared memory")


class Memory:
    """A shared memory object, as a client creates it."""

    def __init__(self, size: int = SIZE) -> None:
        self.key = f"/pinnace-test-{secrets.token_hex(8)}"
        self.path = Path(regions.FOLDER + self.key)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(file, size)
        self.map = mmap.mmap(file, size)
        os.close(file)

    def close(self) -> None:
        self.map.close()
        self.path.unlink(missing_ok=True)


@pytest.fixture
def memory() -> Iterator[Memory]:
    made = Memory()
    yield made
    made.close()


def settings_of(tmp_path: Path, **more: Any) -> Settings:
    write_version(tmp_path / "m", 7)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    return Settings(models=models, file_system_poll_s=0, **{"shared_memory": True, **more})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(settings_of(tmp_path), lambda _: every_kind()) as found:
        yield found


def register(server: Server, name: str, key: str, size: int = SIZE, offset: int = 0) -> Any:
    body = {"key": key, "offset": offset, "byte_size": size}
    return server.ask("POST", f"{SYSTEM}/region/{name}/register", json=body)


def at(region: str, size: int, offset: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {"shared_memory_region": region, "shared_memory_byte_size": size}
    return {**found, "shared_memory_offset": offset} if offset else found


def infer(server: Server, given: Any, wanted: Any = None, shape: Any = (3,)) -> httpx.Response:
    tensor = {"name": "x", "datatype": "FP32", "shape": list(shape), **given}
    document: dict[str, Any] = {"inputs": [tensor]}
    if wanted is not None:
        document["outputs"] = [{"name": "y", "parameters": wanted}]
    return server.ask("POST", "/v2/models/m/infer", json=document)


def test_tensors_lie_in_regions(server: Server, memory: Memory) -> None:
    assert register(server, "in", memory.key, 64, 16).status_code == 200
    assert register(server, "out", memory.key, 1024, 2048).status_code == 200
    assert server.ask("GET", "/v2").json()["extensions"][-1] == "system_shared_memory"
    rows = server.ask("GET", f"{SYSTEM}/status").json()
    assert rows == [
        {"name": "in", "key": memory.key, "offset": 16, "byte_size": 64},
        {"name": "out", "key": memory.key, "offset": 2048, "byte_size": 1024},
    ]
    assert server.ask("GET", f"{SYSTEM}/region/out/status").json() == rows[1:]
    for turn in range(3):
        x = X + turn
        memory.map[16 + 8 : 16 + 8 + x.nbytes] = x.tobytes()
        reply = infer(server, {"parameters": at("in", 12, 8)}, at("out", 100, 4))
        assert reply.status_code == 200, reply.text
        (output,) = reply.json()["outputs"]
        told = {"name": "y", "datatype": "FP32", "shape": [3], "parameters": at("out", 12, 4)}
        assert output == told
        found = np.frombuffer(memory.map[2052 : 2052 + 12], np.float32)
        np.testing.assert_array_equal(found, x / 2 + 2)
        assert not any(memory.map[2064 : 2048 + 1024])  # nothing after it
    reply = infer(server, {"parameters": at("in", 12, 8)})
    assert reply.json()["outputs"][0]["data"] == ((X + 2) / 2 + 2).tolist()
    reply = infer(server, {"data": X.tolist()}, at("out", 12))
    np.testing.assert_array_equal(np.frombuffer(memory.map[2048:2060], np.float32), Y)
    assert server.ask("POST", f"{SYSTEM}/region/in/unregister").status_code == 200
    assert server.ask("POST", f"{SYSTEM}/region/never/unregister").status_code == 200
    assert [row["name"] for row in server.ask("GET", f"{SYSTEM}/status").json()] == ["out"]
    assert server.ask("POST", f"{SYSTEM}/unregister").status_code == 200
    assert server.ask("GET", f"{SYSTEM}/status").json() == []


def test_bytes_behind_a_header_go_beside_memory(server: Server, memory: Memory) -> None:
    register(server, "out", memory.key)
    tensor = {"name": "x", "datatype": "FP32", "shape": [3], "parameters": {"binary_data_size": 12}}
    for turn in range(3):  # the front caches headers
        document = {"inputs": [tensor], "outputs": [{"name": "y", "parameters": at("out", 12)}]}
        header = json.dumps(document).encode()
        reply = server.ask(
            "POST",
            "/v2/models/m/infer",
            content=header + (X + turn).tobytes(),
            headers={"inference-header-content-length": str(len(header))},
        )
        assert reply.json()["outputs"][0]["parameters"] == at("out", 12)
        found = np.frombuffer(memory.map[:12], np.float32)
        np.testing.assert_array_equal(found, (X + turn) / 2 + 2)
    server.ask("POST", f"{SYSTEM}/unregister")
    reply = server.ask(
        "POST",
        "/v2/models/m/infer",
        content=header + X.tobytes(),
        headers={"inference-header-content-length": str(len(header))},
    )
    assert (reply.status_code, reply.json()["error"]) == (
        404,
        "Unable to find shared memory region: 'out'",
    )


@pytest.mark.parametrize(
    ("given", "wanted", "status", "said"),
    [
        (at("none", 12), None, 404, "Unable to find shared memory region: 'none'"),
        (at("r", 12, 64), None, 400, "Invalid offset for shared memory region: 'r'"),
        (at("r", 12, 2**62), None, 400, "Invalid offset for shared memory region: 'r'"),
        (at("r", 12, 60), None, 400, "Invalid offset + byte size for shared memory region: 'r'"),
        (at("r", 2**62), None, 413, "the inputs in shared memory would take"),
        (at("r", 8), None, 400, "takes 12 bytes, got 8"),
        ({"shared_memory_region": "r"}, None, 400, "'shared_memory_byte_size' of input 'x' must"),
        ({"shared_memory_byte_size": 12}, None, 400, "'shared_memory_region' of input 'x' must be"),
        ({**at("r", 12), "shared_memory_offset": -1}, None, 400, "must be a number of bytes"),
        ({**at("r", 12), "shared_memory_offset": True}, None, 400, "must be a number of bytes"),
        (at("r", 12), at("r", 8), 500, "output 'y' (8 bytes) should be at least 12 bytes to hold"),
        (at("r", 12), at("none", 12), 404, "Unable to find shared memory region: 'none'"),
        (at("r", 12), at("r", 65), 400, "Invalid offset + byte size for shared memory region"),
        (at("r", 12), {"shared_memory_region": 5}, 400, "of output 'y' must be a name"),
    ],
)
def test_places_that_are_not_there(
    server: Server, memory: Memory, given: Any, wanted: Any, status: int, said: str
) -> None:
    register(server, "r", memory.key, 64)
    reply = infer(server, {"parameters": given}, wanted)
    assert (reply.status_code, said in reply.json()["error"]) == (status, True), reply.text
    assert infer(server, {"data": X.tolist()}).json()["outputs"][0]["data"] == Y.tolist()


def test_values_are_in_one_place(server: Server, memory: Memory) -> None:
    register(server, "r", memory.key)
    for more in ({"data": [1, 2, 3]}, {}):
        own = {} if more else {"binary_data_size": 12}
        reply = infer(server, {"parameters": {**at("r", 12), **own}, **more})
        assert reply.status_code == 400
        assert "both in shared memory and in the request" in reply.json()["error"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"key": "/../etc/passwd", "byte_size": 8}, 400, "without slashes except one before it"),
        ({"key": "//x", "byte_size": 8}, 400, "without slashes"),
        ({"key": "a/b", "byte_size": 8}, 400, "without slashes"),
        ({"key": "..", "byte_size": 8}, 400, "without slashes"),
        ({"key": "/.", "byte_size": 8}, 400, "without slashes"),
        ({"key": "", "byte_size": 8}, 400, "without slashes"),
        ({"key": "/a\0b", "byte_size": 8}, 400, "without slashes"),
        ({"key": "/" + "a" * 256, "byte_size": 8}, 400, "without slashes"),
        ({"key": "/none", "byte_size": 8}, 500, "Unable to open shared memory region: '/none'"),
        ({"key": "KEY", "byte_size": SIZE + 1}, 400, "failed to register shared memory region"),
        ({"key": "KEY", "byte_size": 8, "offset": SIZE - 7}, 400, "invalid args"),
        ({"key": "KEY", "byte_size": 0}, 400, "invalid args"),
        ({"key": "KEY", "byte_size": 2**63}, 400, "invalid args"),
        ({"key": "KEY", "byte_size": -1}, 400, "'byte_size' must be a number of bytes"),
        ({"key": "KEY", "byte_size": 8, "offset": "0"}, 400, "'offset' must be a number of bytes"),
        ({"key": "KEY"}, 400, "'byte_size' must be a number of bytes, got None"),
        ({"byte_size": 8}, 400, "'key' must be the name of an object"),
        ([], 400, "must be a JSON object"),
    ],
)
def test_objects_that_cannot_be_registered(
    server: Server, memory: Memory, body: Any, status: int, said: str
) -> None:
    text = json.dumps(body).replace("KEY", memory.key)
    reply = server.ask("POST", f"{SYSTEM}/region/r/register", content=text)
    assert (reply.status_code, said in reply.json()["error"]) == (status, True), reply.text
    assert server.ask("GET", f"{SYSTEM}/status").json() == []
    missing = server.ask("GET", f"{SYSTEM}/region/r/status")
    told = "Unable to find system shared memory region: 'r'"
    assert (missing.status_code, missing.json()["error"]) == (404, told)


def test_links_pipes_and_folders_are_no_memory(server: Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 64)
    made = [Path(regions.FOLDER) / f"pinnace-test-{secrets.token_hex(8)}" for _ in range(3)]
    try:
        made[0].symlink_to(secret)
        os.mkfifo(made[1])
        made[2].mkdir()
        for path in made:
            reply = register(server, "r", f"/{path.name}", 8)
            assert reply.status_code == 500
            assert "Unable to open shared memory region" in reply.json()["error"]
    finally:
        made[0].unlink()
        made[1].unlink()
        made[2].rmdir()


def test_names_are_taken_once_and_regions_are_bounded(
    server: Server, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(server, "r", memory.key)
    again = register(server, "r", memory.key)
    told = "shared memory region 'r' already in manager"
    assert (again.status_code, again.json()["error"]) == (409, told)
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(regions, "MOST_REGIONS", 5)
    replies = [register(server, f"n{i}", memory.key).status_code for i in range(8)]
    assert replies == [200] * 4 + [429] * 4
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 4
    server.ask("POST", f"{SYSTEM}/unregister")
    assert len(list(Path("/proc/self/fd").iterdir())) == before - 1


def test_memory_that_becomes_shorter_ends_no_process(server: Server, memory: Memory) -> None:
    register(server, "r", memory.key)
    os.truncate(memory.path, 8)
    for given, wanted in (
        ({"parameters": at("r", 12)}, None),
        ({"data": X.tolist()}, at("r", 12)),
    ):
        reply = infer(server, given, wanted)
        assert (reply.status_code, "has become shorter" in reply.text) == (400, True)
    assert memory.path.stat().st_size == 8
    os.truncate(memory.path, SIZE)
    memory.path.unlink()  # its memory exists as long as it is registered
    memory.map[:12] = X.tobytes()
    assert infer(server, {"parameters": at("r", 12)}).json()["outputs"][0]["data"] == Y.tolist()


def test_large_tensors_are_read_in_a_thread_and_counted(tmp_path: Path) -> None:
    large = Memory(2**22)
    try:
        with running(settings_of(tmp_path, max_expansion_bytes=2**21), read_version) as server:
            register(server, "r", large.key, 2**22)
            x = np.arange(2**19, dtype=np.float32)
            large.map[: x.nbytes] = x.tobytes()
            place = at("r", x.nbytes)
            reply = infer(server, {"parameters": place}, at("r", x.nbytes, 2**21), x.shape)
            assert reply.status_code == 200, reply.text
            found = np.frombuffer(large.map[2**21 :], np.float32)
            np.testing.assert_array_equal(found, x / 2 + 2)
            reply = infer(server, {"parameters": at("r", 2**21 + 4)}, None, (2**19 + 1,))
            assert reply.status_code == 413
            exchange = server.app.state.exchange
            assert exchange.bytes_in_flight == exchange.in_flight == 0
    finally:
        large.close()


def test_without_the_flag_it_is_refused_by_name(tmp_path: Path, memory: Memory) -> None:
    with running(settings_of(tmp_path, shared_memory=False), read_version) as server:
        for reply in (
            register(server, "r", memory.key),
            server.ask("GET", f"{SYSTEM}/status"),
            server.ask("POST", f"{SYSTEM}/unregister"),
            server.ask("GET", "/v2/cudasharedmemory/status"),
            infer(server, {"parameters": at("r", 12)}),
        ):
            assert reply.status_code == 501
            assert "--shared_memory" in reply.json()["error"]
        assert "system_shared_memory" not in server.ask("GET", "/v2").json()["extensions"]
    with pytest.raises(InvalidArgumentError, match="shared_memory is for one worker"):
        settings_of(tmp_path / "two", workers=2)


def test_memory_of_a_gpu_is_none(server: Server) -> None:
    cuda = "/v2/cudasharedmemory"
    assert server.ask("GET", f"{cuda}/status").json() == []
    assert server.ask("POST", f"{cuda}/unregister").status_code == 200
    reply = server.ask("POST", f"{cuda}/region/r/register", json={"raw_handle": {"b64": ""}})
    assert (reply.status_code, "GPUs not supported" in reply.text) == (400, True)


def grpc_request(memory: Callable[[Any], None]) -> v2.ModelInferRequest:
    message = v2.ModelInferRequest(model_name="m")
    memory(message.inputs.add(name="x", datatype="FP32", shape=[3]))
    return message


def put(tensor: Any, region: str, size: int, offset: int = 0) -> None:
    tensor.parameters["shared_memory_region"].string_param = region
    tensor.parameters["shared_memory_byte_size"].int64_param = size
    if offset:
        tensor.parameters["shared_memory_offset"].int64_param = offset


def test_grpc(tmp_path: Path, memory: Memory) -> None:
    pytest.importorskip("grpc")
    from unit.serving.grpc.test_services import INFERENCE, Ask, serving, status_of

    verb = INFERENCE + "SystemSharedMemory"

    async def work(ask: Ask) -> None:
        wanted = v2.SystemSharedMemoryRegisterRequest(
            name="r", key=memory.key, offset=8, byte_size=512
        )
        await ask(verb + "Register", wanted, v2.SystemSharedMemoryRegisterResponse)
        code, said = await status_of(
            ask(verb + "Register", wanted, v2.SystemSharedMemoryRegisterResponse)
        )
        assert (code, said) == ("ALREADY_EXISTS", "shared memory region 'r' already in manager")
        status = await ask(
            verb + "Status",
            v2.SystemSharedMemoryStatusRequest(),
            v2.SystemSharedMemoryStatusResponse,
        )
        (row,) = status.regions.values()
        assert (row.name, row.key, row.offset, row.byte_size) == ("r", memory.key, 8, 512)
        for turn in range(3):
            x = X + turn
            memory.map[8 : 8 + 12] = x.tobytes()
            message = grpc_request(lambda tensor: put(tensor, "r", 12))
            put(message.outputs.add(name="y"), "r", 16, 100)
            reply = await ask(INFERENCE + "ModelInfer", message, v2.ModelInferResponse)
            (output,) = reply.outputs
            assert list(reply.raw_output_contents) == [b""]
            assert output.parameters["shared_memory_byte_size"].int64_param == 12
            assert output.parameters["shared_memory_region"].string_param == "r"
            found = np.frombuffer(memory.map[108:120], np.float32)
            np.testing.assert_array_equal(found, x / 2 + 2)
            # An input as bytes, and an output in shared memory, as clients combine them.
            message = v2.ModelInferRequest(model_name="m")
            message.inputs.add(name="x", datatype="FP32", shape=[3])
            message.raw_input_contents.append((x + 1).tobytes())
            put(message.outputs.add(name="y"), "r", 12)
            await ask(INFERENCE + "ModelInfer", message, v2.ModelInferResponse)
            found = np.frombuffer(memory.map[8:20], np.float32)
            np.testing.assert_array_equal(found, (x + 1) / 2 + 2)
        for change, told in (
            (lambda m: m.raw_input_contents.append(X.tobytes()), "1 entries for 0 inputs"),
            (lambda m: m.inputs[0].contents.fp32_contents.append(1), "beside shared memory"),
            (lambda m: put(m.inputs[0], "none", 12), "Unable to find shared memory region: 'none'"),
        ):
            message = grpc_request(lambda tensor: put(tensor, "r", 12))
            change(message)
            code, said = await status_of(
                ask(INFERENCE + "ModelInfer", message, v2.ModelInferResponse)
            )
            assert told in said
        name = v2.SystemSharedMemoryUnregisterRequest(name="r")
        await ask(verb + "Unregister", name, v2.SystemSharedMemoryUnregisterResponse)
        code, said = await status_of(
            ask(
                verb + "Status",
                v2.SystemSharedMemoryStatusRequest(name="r"),
                v2.SystemSharedMemoryStatusResponse,
            )
        )
        assert (code, said) == ("NOT_FOUND", "Unable to find system shared memory region: 'r'")
        cuda = INFERENCE + "CudaSharedMemory"
        await ask(cuda + "Unregister", b"", v2.SystemSharedMemoryUnregisterResponse)
        await ask(cuda + "Status", b"", v2.SystemSharedMemoryStatusResponse)
        code, said = await status_of(
            ask(cuda + "Register", b"\x0a\x01c", v2.SystemSharedMemoryRegisterResponse)
        )
        told = "failed to register CUDA shared memory region: 'c', GPUs not supported"
        assert (code, said) == ("INVALID_ARGUMENT", told)
        await ask(
            verb + "Unregister",
            v2.SystemSharedMemoryUnregisterRequest(),
            v2.SystemSharedMemoryUnregisterResponse,
        )

    serving(tmp_path, work, shared_memory=True)

    async def refused(ask: Ask) -> None:
        for call in ("Status", "Register", "Unregister"):
            code, said = await status_of(ask(verb + call, b"", v2.ModelInferResponse))
            assert (code, "--shared_memory" in said) == ("UNIMPLEMENTED", True)

    serving(tmp_path / "off", refused)


def test_strings_have_their_lengths_before_them(server: Server, memory: Memory) -> None:
    register(server, "r", memory.key)
    texts = [b"", b"ab", "é".encode()]
    data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    memory.map[: len(data)] = data
    document = {
        "parameters": {"signature_name": "echo_string"},
        "inputs": [
            {
                "name": "x",
                "datatype": "BYTES",
                "shape": [3],
                "parameters": at("r", len(data)),
            }
        ],
        "outputs": [{"name": "y", "parameters": at("r", 200, 1000)}],
    }
    reply = server.ask("POST", "/v2/models/m/infer", json=document)
    assert reply.status_code == 200, reply.text
    assert reply.json()["outputs"][0]["parameters"] == at("r", len(data), 1000)
    assert memory.map[1000 : 1000 + len(data)] == data
