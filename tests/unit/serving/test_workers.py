"""Several workers on one port, and signals to one or all of them."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

from pinnace.serving.observing.ledger import Ledger
from pinnace.serving.observing.metrics import Meter, Metrics
from unit.serving.numpy_models import write_version
from unit.serving.test_process import process, read_url, wait_for

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


def children(server: subprocess.Popen[str]) -> list[int]:
    path = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def request_count(url: str) -> float:
    text = httpx.get(f"{url}/monitoring/prometheus/metrics").text
    found = re.findall(r'request_count\{model_name="half",status="OK"\} (\S+)', text)
    return float(found[0]) if found else 0.0


def ask(url: str, value: float = 1.0) -> httpx.Response:
    return httpx.post(f"{url}/v1/models/half:predict", json={"instances": [value]})


def test_workers_answer_and_count_as_one(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1, 2)
    flags = ("--rest_api_port=0", "--port=0", "--workers=3", "--file_system_poll_wait_seconds=0")
    flags = (*flags, "--model_control")
    with process(*flags, f"half={tmp_path / 'half'}") as server:
        url, lines = read_url(server)
        assert sum(line.startswith("half ") for line in lines) == 1
        wait_for(lambda: len(children(server)) == 3)
        first = children(server)
        for i in range(20):
            assert ask(url, i).json() == {"predictions": [i / 2 + 2]}
        assert {request_count(url) for _ in range(10)} == {20.0}

        os.kill(first[1], signal.SIGKILL)  # its counts are kept, and it is replaced
        wait_for(lambda: len(children(server)) == 3 and first[1] not in children(server))
        for _ in range(20):
            assert ask(url).status_code == 200
        assert {request_count(url) for _ in range(10)} == {40.0}

        write_version(tmp_path / "half", 2, 3)  # without polling: a signal triggers the check
        server.send_signal(signal.SIGHUP)
        answers = [{"predictions": [3.5]}] * 20
        wait_for(lambda: [ask(url).json() for _ in range(20)] == answers)

        models = f"{url}/v2/repository/models/half"
        assert httpx.post(f"{models}/unload").status_code == 200
        ready = f"{url}/readyz?model=half"
        wait_for(lambda: {httpx.get(ready).status_code for _ in range(20)} == {503})
        last = children(server)[-1]
        os.kill(last, signal.SIGKILL)  # the new worker is told, too
        wait_for(lambda: len(children(server)) == 3 and last not in children(server))
        wait_for(lambda: {httpx.get(ready).status_code for _ in range(20)} == {503})
        assert httpx.post(f"{models}/load").status_code == 200
        wait_for(lambda: {httpx.get(ready).status_code for _ in range(20)} == {200})
        assert httpx.get(f"{url}/readyz?model=none").status_code == 404
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1, 2)
    with process(
        "--rest_api_port=0", "--port=0", "--workers=2", f"half={tmp_path / 'half'}"
    ) as server:
        read_url(server)
        wait_for(lambda: len(children(server)) == 2)
        left = children(server)
        server.kill()
        server.wait()
        wait_for(lambda: not any(is_running(pid) for pid in left))


def test_a_worker_that_cannot_start_ends_the_server(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 3, None)
    with process("--rest_api_port=0", "--workers=2", f"half={tmp_path / 'half'}") as server:
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out) == (1, "")
    folder = tmp_path / "half" / "3"
    assert err == f"pinnace serve: model 'half' version 3: {folder}/saved_model.pb: damaged\n"


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_in_flight_is_answered_after_sigterm(tmp_path: Path, workers: int) -> None:
    """Requests that wait on the hot front, pipelined ones, and keep-alive connections."""
    write_version(tmp_path / "slow", 1, 2)
    flags = ("--rest_api_port=0", "--port=0", f"--workers={workers}")
    with process(*flags, f"slow={tmp_path / 'slow'}") as server:
        url, _ = read_url(server)
        host, port = url.removeprefix("http://").split(":")
        wait_for(lambda: is_answering(url))
        replies: list[bytes] = []

        def one(i: int) -> None:
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                body = b'{"instances": [%d]}' % i
                head = b"POST /v1/models/slow:predict HTTP/1.1\r\nHost: x\r\n"
                connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                replies.append(b"".join(iter(lambda: connection.recv(4096), b"")))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(6)]
        with socket.create_connection((host, int(port)), timeout=20) as idle:
            for thread in threads:
                thread.start()
            time.sleep(0.25)  # they run: the model takes half a second
            server.send_signal(signal.SIGTERM)
            for thread in threads:
                thread.join()
            assert idle.recv(100) == b""
        assert len(replies) == 6
        for reply in replies:
            assert reply.startswith(b"HTTP/1.1 200 OK"), reply
            assert b"connection: close" in reply
        assert server.wait(timeout=20) == 0


def test_pages_of_workers_add_up_and_outlive_them() -> None:
    ledger = Ledger(3, Meter.CELLS, entries=2)
    for worker in range(3):
        ledger.claim(worker)
        metrics = Metrics(lambda name: name in "ab", ledger)
        meter = metrics.meter("a", "predict", "REST")
        meter.statuses[0] += worker + 1
        meter.latency.observe(15.0)
        meter.latency.observe(1e12)
        if worker:
            metrics.meter("b" * worker, "predict", "GRPC").statuses[5] += 1
    text = metrics.text().decode()
    assert 'request_count{model_name="a",status="OK"} 6.0' in text
    assert 'request_count{model_name="b",status="NOT_FOUND"} 1.0' in text
    assert 'request_count{model_name="",status="NOT_FOUND"} 1.0' in text
    latency = 'request_latency_count{API="predict",entrypoint="REST",model_name="a"} 6.0'
    assert latency in text
    again = Metrics(lambda name: name in "ab", ledger)  # the worker that replaces the last one
    again.meter("a", "predict", "REST").statuses[0] += 1
    assert 'request_count{model_name="a",status="OK"} 7.0' in again.text().decode()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_answering(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").is_success
    except httpx.HTTPError:
        return False
