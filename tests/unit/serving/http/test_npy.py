"""NumPy files and binary tensors on TensorFlow Serving's predict route."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.serving.http.npy import read_npy, write_npy

if TYPE_CHECKING:
    import httpx

    from unit.serving.memory_server import Server

NPY = "application/x-npy"


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=array.dtype == object)
    return file.getvalue()


def ask(
    server: Server, body: bytes, signature: str = "serving_default", accept: str = "*/*"
) -> httpx.Response:
    headers = {"Content-Type": NPY, "Accept": accept, "X-Signature-Name": signature}
    return server.ask("POST", "/v1/models/m:predict", content=body, headers=headers)


def test_an_array_is_answered_by_an_array(server: Server) -> None:
    x = np.arange(6, dtype=np.float32)
    reply = ask(server, npy(x), accept=NPY)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == NPY
    assert reply.headers["x-model-version"] == "7"
    found = np.load(io.BytesIO(reply.content))
    np.testing.assert_array_equal(found, x / 2 + 2)
    assert found.dtype == np.float32


def test_an_array_is_answered_in_json_unless_asked_otherwise(server: Server) -> None:
    assert ask(server, npy(np.float32([2, 4]))).json() == {"outputs": [3.0, 4.0]}


def test_json_is_answered_by_an_array_if_asked(server: Server) -> None:
    reply = server.ask(
        "POST", "/v1/models/m:predict", json={"instances": [2.0]}, headers={"Accept": NPY}
    )
    np.testing.assert_array_equal(np.load(io.BytesIO(reply.content)), np.float32([3]))


def test_several_outputs_are_no_array(server: Server) -> None:
    body = json.dumps({"inputs": [1.0, 2.0], "signature_name": "total"})
    for accept, status in ((NPY, 400), (f"{NPY}, application/json", 200), (f"{NPY}, */*", 200)):
        headers = {"Accept": accept}
        reply = server.ask("POST", "/v1/models/m:predict", content=body, headers=headers)
        assert reply.status_code == status
        assert "total" in reply.text


def test_strings(server: Server) -> None:
    for texts in (np.array(["é", "ab"]), np.array(["é".encode(), b"ab"])):
        reply = ask(server, npy(texts), "echo_string", accept=NPY)
        assert np.load(io.BytesIO(reply.content)).tolist() == ["é".encode(), b"ab"]


@pytest.mark.parametrize(
    ("body", "signature", "message"),
    [
        (b"", "serving_default", "not an .npy file"),
        (b'{"instances": [1]}', "serving_default", "not an .npy file"),
        (npy(np.float32([1, 2]))[:-1], "serving_default", "must have 8 bytes of values, got 7"),
        (npy(np.float32([1, 2])) + b"x", "serving_default", "must have 8 bytes of values, got 9"),
        (npy(np.array([{}], object)), "serving_default", "must hold numbers"),
        (npy(np.zeros(2, [("a", "f4")])), "serving_default", "must hold numbers"),
        (npy(np.float64([1])), "serving_default", "must be float32[?], got float64[1]"),
        (npy(np.float32([[1]])), "serving_default", "must be float32[?], got float32[1, 1]"),
        (npy(np.float32([1])), "two", "{a, b}"),
        (npy(np.float32([1])), "nothing", "not found in signature def"),
    ],
)
def test_what_does_not_fit_is_refused(
    server: Server, body: bytes, signature: str, message: str
) -> None:
    reply = ask(server, body, signature)
    assert reply.status_code == 400
    assert message in reply.json()["error"]


def test_tensors_as_bytes_on_the_same_route(server: Server) -> None:
    x = np.float32([2, 4])
    tensor = {"name": "x", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    replies = [
        server.ask("POST", path, content=head + x.tobytes(), headers=headers)
        for path in ("/v1/models/m:predict", "/v2/models/m/infer")
    ]
    assert replies[0].content == replies[1].content
    size = int(replies[0].headers["inference-header-content-length"])
    np.testing.assert_array_equal(np.frombuffer(replies[0].content[size:], np.float32), x / 2 + 2)


@pytest.mark.parametrize("name", ["float32", "<f8", ">f4", "uint8", "bool", "<U3", "bfloat16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_saves_is_read(name: str, order: Any) -> None:
    kind = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
    array = np.asarray(np.arange(6).reshape(2, 3) % 2, order=order).astype(kind)
    dtype = {"bfloat16": dtypes.bfloat16, "<U3": dtypes.string}.get(name, dtypes.float32)
    found = read_npy(npy(array), dtype)
    assert found.flags.aligned
    assert found.dtype.isnative
    expected = array.astype("S3").astype(object) if name == "<U3" else array
    np.testing.assert_array_equal(found, expected)


@given(st.binary(max_size=300), st.integers(0, 300), st.booleans())
def test_damaged_files_are_refused_and_nothing_else(noise: bytes, at: int, cut: bool) -> None:
    whole = npy(np.arange(12, dtype=np.float32).reshape(3, 4))
    body = whole[:at] + noise + (b"" if cut else whole[at + len(noise) :])
    try:
        found = read_npy(body, dtypes.float32)
    except InvalidArgumentError:
        return
    assert found.nbytes <= len(body)


def test_replies_lose_nothing() -> None:
    bfloat = np.array([1.5, -2], ml_dtypes.bfloat16)
    found = np.load(io.BytesIO(write_npy(bfloat, "y")))
    np.testing.assert_array_equal(found.view(ml_dtypes.bfloat16), bfloat)
    with pytest.raises(FailedPreconditionError, match="zero byte"):
        write_npy(np.array([b"a\0"], object), "y")
    assert np.load(io.BytesIO(write_npy(np.empty([0, 2], object), "y"))).shape == (0, 2)
    assert np.load(io.BytesIO(write_npy(np.float32(3), "y"))).shape == ()


@pytest.mark.parametrize(
    "dtype",
    [
        *("datetime64[s]", "datetime64[ns]", "timedelta64[ms]", "V3", "longdouble", "clongdouble"),
        *("float16", "complex64", "S3", "U3", "M8", "m8", "i2", "?"),
    ],
)
@pytest.mark.parametrize("order", ["=", ">"])
def test_dtypes_that_numpy_knows_and_the_signature_does_not_are_the_requests_fault(
    server: Server, dtype: str, order: str
) -> None:
    kind = np.dtype(dtype)
    kind = kind if kind.byteorder == "|" else kind.newbyteorder(order)
    file = io.BytesIO()
    np.save(file, np.zeros(3, kind))
    for signature in ("serving_default", "echo_string", "echo_int64", "echo_bool"):
        headers = {"Content-Type": "application/x-npy", "X-Signature-Name": signature}
        found = server.ask("POST", "/v1/models/m:predict", content=file.getvalue(), headers=headers)
        fits = (signature, dtype) in {("echo_bool", "?")} or (
            signature == "echo_string" and dtype[0] in "SU"
        )
        assert found.status_code == (200 if fits else 400), (signature, found.text)
        if not fits:
            assert "got" in found.json()["error"]
