"""A server in its own process, on a real port."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pinnace.framework.errors import AlreadyExistsError
from pinnace.serving.client import Client
from pinnace.serving.process import bind
from support.hungry_models import save_endless, save_hungry
from support.waiting import until
from unit.serving.numpy_models import write_version

TESTS = Path(__file__).parents[2]
PROGRAM = TESTS / "unit" / "serving" / "serve_half_plus_two.py"
SAVED_MODELS = PROGRAM.with_name("serve_saved_models.py")


@contextmanager
def process(*argv: str, program: Path = PROGRAM) -> Iterator[subprocess.Popen[str]]:
    """A server that is killed at the end, if it is still running."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    server = subprocess.Popen(
        [sys.executable, str(program), "--host=127.0.0.1", *argv],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with server:
        try:
            yield server
        finally:
            server.kill()


def read_url(server: subprocess.Popen[str]) -> tuple[str, list[str]]:
    """The URL that a server prints when it is ready to listen, and all lines before its command."""
    assert server.stdout is not None
    lines: list[str] = []
    for line in server.stdout:
        lines.append(line.rstrip())
        if line.startswith("  curl"):
            match = re.search(r"Serving on (\S+)", "\n".join(lines))
            assert match is not None
            return match[1], lines
    raise AssertionError(f"the server ended: {lines} {server.stderr and server.stderr.read()}")


def test_a_server_starts_answers_and_ends(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1, 2)
    with process("--rest_api_port=0", f"half={tmp_path / 'half'}") as server:
        url, lines = read_url(server)
        assert lines[0].split() == [
            *("model", "version", "signature", "batches", "inputs", "outputs"),
        ]
        assert lines[1].split() == [
            "half",
            "1",
            "serving_default",
            "none",
            "x",
            "float32[?]",
            "y",
            "float32[?]",
        ]
        with Client(url) as client:
            wait_until_ready(client)
            assert client.predict("half", [1.0, 2.0]).tolist() == [2.5, 3.0]
            write_version(tmp_path / "half", 2, 3)
            # The old version is unloaded once the new one answers, which is listed while it loads.
            wait_for(lambda: states(client) == {"2": "AVAILABLE", "1": "END"})
            assert client.predict("half", [1.0]).tolist() == [3.5]
        pasted = subprocess.run(shlex.split(lines[-1]), capture_output=True, text=True, check=True)
        assert pasted.stdout == '{"predictions":[3.0]}'
        large = httpx.post(f"{url}/v1/models/half:predict", content=b" " * (2**26 + 1))
        assert large.status_code == 413
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=20)
        assert (server.returncode, out) == (0, "")
        lines = [line.split(" INFO ")[1] for line in err.splitlines()]
        assert lines == [
            "model 'half' version 2 is available",
            "model 'half' version 1 was unloaded",
            "SIGTERM came",
            "the server ends; requests to answer first: 0",
            "the server has ended",
        ]


@pytest.mark.parametrize(("workers", "form"), [(1, "text"), (2, "text"), (2, "json")])
def test_labels_weights_and_batches_are_said_once(tmp_path: Path, workers: int, form: str) -> None:
    write_version(tmp_path / "half", 1)
    write_version(tmp_path / "half", 2)
    write_version(tmp_path / "other", 1)
    config = tmp_path / "models.config"
    told = """model_config_list {
      config { name: "half" base_path: "%s/half" model_version_policy { all {} }
        version_labels { key: "stable" value: %d } version_labels { key: "new" value: 2 } }
      config { name: "other" base_path: "%s/other" } }"""
    config.write_text(told % (tmp_path, 1, tmp_path))
    flags = (
        *("--rest_api_port=0", f"--workers={workers}", f"--log_format={form}"),
        *(f"--model_config_file={config}", "--model_config_file_poll_wait_seconds=0.1"),
        "--version_weights=half=stable:3,2:1",
    )
    with process(*flags) as server:
        url, lines = read_url(server)
        rows = [re.split(r"  +", line) for line in lines[:4]]
        batched = ["serving_default", "none", "x float32[?]", "y float32[?]"]
        assert rows == [
            ["model", "version", "labels", "weight", "signature", "batches", "inputs", "outputs"],
            ["half", "2", "new", "25 %", *batched],
            ["half", "1", "stable", "75 %", *batched],
            ["other", "1", *batched],
        ]
        with Client(url) as client:
            wait_until_ready(client)
        config.write_text(told % (tmp_path, 2, tmp_path))
        assert server.stderr is not None
        found: list[str] = []
        for line in server.stderr:
            found.append(line.rstrip())
            if "divides its requests" in line:
                server.send_signal(signal.SIGTERM)
                break
        found += server.communicate(timeout=30)[1].splitlines()
    if form == "json":
        records = [json.loads(line) for line in found]
        assert all(record["pid"] > 0 for record in records)
        messages = [record["message"] for record in records]
    else:
        pid = r" \[\d+\]" if workers > 1 else ""
        matches = [re.fullmatch(rf"\S+ \S+ INFO{pid} (.*)", line) for line in found]
        messages = [match[1] for match in matches if match is not None]
        assert len(messages) == len(found), found
    expected = [
        "model 'half' has the labels {new: 2, stable: 2}",
        "model 'half' divides its requests: {version 2: 1}",
        "SIGTERM came",
        "the server ends; requests to answer first: 0",
        "the server has ended",
    ]
    assert messages[-len(expected) :] == expected
    assert len(set(messages)) == len(messages)


def test_the_last_requests_are_answered(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1)
    with process("--rest_api_port=0", f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        host, port = url.removeprefix("http://").split(":")
        with Client(url) as client:
            wait_until_ready(client)
        with socket.create_connection((host, int(port))) as connection:
            body = b'{"instances": [1]}'
            head = b"POST /v1/models/half:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
            connection.sendall(head % len(body) + body[:5])
            time.sleep(0.2)  # the server has begun to read
            server.send_signal(signal.SIGINT)
            time.sleep(0.3)
            connection.sendall(body[5:])
            connection.settimeout(10)
            reply = b"".join(iter(lambda: connection.recv(4096), b""))
        assert reply.startswith(b"HTTP/1.1 200 OK")
        assert reply.endswith(b'{"predictions":[2.5]}')
        assert server.wait(timeout=20) == 0


def test_a_port_in_use_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with process(f"--rest_api_port={port}", f"half={tmp_path / 'half'}") as server:
            out, err = server.communicate(timeout=30)
        assert server.returncode == 1
        assert out == ""
        assert err == (
            f"pinnace serve: port {port} on 127.0.0.1 is in use; stop what uses it, "
            "or give another --rest_api_port\n"
        )
        with pytest.raises(AlreadyExistsError, match=f"port {port} on 127.0.0.1 is in use"):
            bind("127.0.0.1", port)


def test_a_broken_model_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 3, None)
    with process("--rest_api_port=0", f"half={tmp_path / 'half'}") as server:
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out) == (1, "")
    folder = tmp_path / "half" / "3"
    assert err == f"pinnace serve: model 'half' version 3: {folder}/saved_model.pb: damaged\n"


def states(client: Client) -> dict[str, str]:
    """The state of each version of the model."""
    return {status["version"]: status["state"] for status in client.status("half")}


def wait_until_ready(client: Client) -> None:
    wait_for(client.is_ready)


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    until(condition)


def test_a_server_whose_model_hangs_while_it_is_loaded_serves_the_others_and_ends(
    tmp_path: Path,
) -> None:
    """SavedModels of which one hangs at the start, and a new version of another one later."""
    for name in ("m", "n"):
        save_hungry(tmp_path / name / "1", side=2)
    save_endless(tmp_path / "hangs" / "1")
    models = [f"{name}={tmp_path / name}" for name in ("hangs", "m", "n")]
    flags = ["--rest_api_port=0", "--max_load_ms=30000", "--file_system_poll_wait_seconds=1"]
    with process(*flags, *models, program=SAVED_MODELS) as server:
        url, _ = read_url(server)
        with Client(url) as client:
            wait_for(lambda: client.predict("m", [1.0]).shape == (1,))

            def versions(name: str) -> dict[str, str]:
                reply = httpx.get(f"{url}/v1/models/{name}").json()
                return {s["version"]: s["state"] for s in reply["model_version_status"]}

            assert versions("hangs") == {"1": "LOADING"}
            assert httpx.get(f"{url}/v2/health/ready").status_code != 200
            save_endless(tmp_path / "m" / "2")
            wait_for(lambda: versions("m") == {"1": "AVAILABLE", "2": "LOADING"})
            save_hungry(tmp_path / "n" / "2", side=2)
            wait_for(lambda: versions("n") == {"2": "AVAILABLE", "1": "END"})
            assert versions("m") == {"1": "AVAILABLE", "2": "LOADING"}
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
