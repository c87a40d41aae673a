import base64
import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from pinnace.framework import errors
from pinnace.serving.client import Client
from support.fresh_process import run_fresh
from unit.serving.memory_server import Server


class AppTransport(httpx.BaseTransport):
    """Passes a synchronous client's requests to an application in memory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        reply = self._server.ask(
            request.method, path, content=request.read(), headers=dict(request.headers)
        )
        return httpx.Response(reply.status_code, content=reply.content, headers=reply.headers)


@pytest.fixture
def client(server: Server) -> Client:
    client = Client("http://test/")
    client._http.close()
    client._http = httpx.Client(transport=AppTransport(server))
    return client


def test_arrays_go_in_and_come_out(client: Client) -> None:
    x = np.float32([0.1, np.nan, np.inf])
    y = client.predict("m", x)
    assert isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y.astype(np.float32), x / np.float32(2) + np.float32(2))
    np.testing.assert_array_equal(client.predict("m", inputs={"x": x[:1]}), y[:1])
    np.testing.assert_array_equal(client.predict("m", [0.0], version=7), [2.0])


def test_several_inputs_and_outputs_have_names(client: Client) -> None:
    a, b = np.ones((2, 2)), np.zeros((2, 2))
    rows = [{"a": a[i], "b": b[i]} for i in range(2)]
    for options in ({"instances": rows}, {"inputs": {"a": a, "b": b}}):
        y = client.predict("m", **options, signature_name="two")
        assert isinstance(y, dict)
        np.testing.assert_array_equal(y["sum"], a + b)
        np.testing.assert_array_equal(y["difference"], a - b)


def test_bytes_and_text_go_in_and_come_out(client: Client) -> None:
    y = client.predict("m", [b"\xff", "a"], signature_name="text_bytes")
    assert isinstance(y, np.ndarray)
    assert y.tolist() == [b"\xff", b"a"]
    y = client.predict("m", np.array([b"a"], object), signature_name="echo_string")
    assert isinstance(y, np.ndarray)
    assert y.tolist() == ["a"]
    one = client.predict(
        "m", inputs={"b64": base64.b64encode(b"\0").decode()}, signature_name="text_bytes"
    )
    assert isinstance(one, np.ndarray)
    assert one.item() == b"\0"


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (lambda c: c.predict("n", [1]), errors.NotFoundError, "404: Servable not found .*Latest"),
        (lambda c: c.predict("a/b c", [1]), errors.NotFoundError, r"Latest\(a/b c\)"),
        (
            lambda c: c.predict("m", [1], label="l"),
            errors.InvalidArgumentError,
            "400: Unrecognized",
        ),
        (lambda c: c.predict("m", [[1]]), errors.InvalidArgumentError, "'x' must be float32"),
        (
            lambda c: c.predict("m", [1], signature_name="value_error"),
            errors.InternalError,
            "500: ValueError: a fault",
        ),
        (lambda c: c.status("n"), errors.NotFoundError, "Could not find any versions"),
    ],
)
def test_errors_of_the_server_are_errors_of_the_client(
    client: Client, ask: Callable[[Client], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ask(client)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with Client("http://127.0.0.1:1") as client:
        assert not client.is_ready()
        with pytest.raises(
            errors.UnavailableError, match=r"http://127.0.0.1:1/v1/models/m:predict: no"
        ):
            client.predict("m", [1])


def test_a_reply_that_is_no_json_is_an_error() -> None:
    class Gateway(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(502, text="<html>bad gateway</html>", request=request)

    client = Client("http://test")
    client._http.close()
    client._http = httpx.Client(transport=Gateway())
    with pytest.raises(errors.InternalError, match=r"502: <html>bad gateway"):
        client.predict("m", [1])
    client.close()


def test_the_client_imports_nothing_of_the_server() -> None:
    printed = run_fresh(
        "import sys, pinnace.serving.client\n"
        "print([m for m in sys.modules if m.startswith('pinnace.serving.') or m == 'fastapi'])"
    )
    assert printed.strip() == "['pinnace.serving.client']"


def test_either_instances_or_inputs() -> None:
    for options in ({}, {"instances": [1], "inputs": [1]}):
        arguments: dict[str, Any] = options
        with (
            Client("http://test") as client,
            pytest.raises(ValueError, match="either instances or"),
        ):
            client.predict("m", **arguments)


def test_status_and_metadata_are_those_of_the_server(client: Client) -> None:
    assert client.is_ready()
    assert [s["state"] for s in client.status("m")] == ["AVAILABLE"]
    assert client.metadata("m", 7)["model_spec"]["version"] == "7"
    json.dumps(client.metadata("m"))
