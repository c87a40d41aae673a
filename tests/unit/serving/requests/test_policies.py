"""API keys, and the encodings that a client accepts."""

import hashlib
import os
from pathlib import Path

import pytest

from pinnace.framework.errors import InvalidArgumentError, NotFoundError, UnauthenticatedError
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.requests.policies import ApiKeys, accepts
from unit.serving.memory_server import running
from unit.serving.numpy_models import every_kind, write_version


def bearer(key: bytes) -> dict[bytes, bytes]:
    return {b"authorization": b"Bearer " + key}


def test_keys_are_plain_or_hashed_and_may_have_names(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    digest = hashlib.sha256(b"second").hexdigest()
    file.write_text(f"# keys\n\nfirst one\nsha256:{digest} two # comment\n")
    keys = ApiKeys(file)
    assert keys.check(bearer(b"first")) == "one"
    assert keys.check({b"x-api-key": b"second"}) == "two"
    for wrong in (b"", b"First", b"firs", b"firstt", digest.encode(), b"sha256:" + digest.encode()):
        with pytest.raises(UnauthenticatedError):
            keys.check(bearer(wrong))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no API key"),
        ("# none\n", "has no API key"),
        ("a b c\n", ":1: must be 'KEY' or 'KEY NAME'"),
        ("\nsha256:12\n", ":2: 64 hexadecimal digits must follow 'sha256:'"),
        (f"sha256:{'x' * 64}\n", ":1: 64 hexadecimal digits must follow 'sha256:'"),
    ],
)
def test_a_file_that_is_wrong_names_the_line_and_no_key(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "keys"
    file.write_text(text)
    with pytest.raises(InvalidArgumentError, match=message):
        ApiKeys(file)
    with pytest.raises(NotFoundError, match="none: cannot be read"):
        ApiKeys(tmp_path / "none")


def test_a_changed_file_counts_and_a_broken_one_does_not(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("old\n")
    keys = ApiKeys(file)
    file.write_text("new\nother\n")
    keys.reload()
    keys.check(bearer(b"new"))
    with pytest.raises(UnauthenticatedError):
        keys.check(bearer(b"old"))
    file.write_text("a b c d\n")
    keys.reload()
    keys.check(bearer(b"new"))
    file.unlink()
    keys.reload()
    keys.check(bearer(b"new"))
    file.write_text("# nobody any longer\n")
    os.utime(file, (1, 1))
    keys.reload()
    with pytest.raises(UnauthenticatedError):
        keys.check(bearer(b"new"))


def test_every_route_but_the_open_ones_needs_a_key(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 7)
    file = tmp_path / "keys"
    file.write_text("right\n")
    routes = [
        ("GET", "/v1/models/m"),
        ("GET", "/v1/models/m/metadata"),
        ("GET", "/v1/models"),
        ("POST", "/v1/models/m:predict"),
        ("POST", "/v1/models/m:classify"),
        ("GET", "/v2"),
        ("GET", "/v2/models/m"),
        ("POST", "/v2/models/m/infer"),
        ("POST", "/v2/repository/models/m/unload"),
        ("GET", "/openapi.json"),
        ("GET", "/no/such/route"),
    ]
    opened = ["/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"]
    metrics = "/monitoring/prometheus/metrics"
    for is_open in (True, False):
        settings = Settings(
            models=(ModelConfig("m", str(tmp_path / "m")),),
            file_system_poll_s=0,
            api_keys_file=str(file),
            health_without_key=is_open,
            metrics_without_key=is_open,
        )
        with running(settings, lambda _: every_kind()) as server:
            for method, path in routes:
                reply = server.ask(method, path)
                assert reply.status_code == 401, path
                assert reply.headers["www-authenticate"] == "Bearer"
                assert reply.json() == {
                    "error": "An API key is needed: send 'Authorization: Bearer KEY' or "
                    "'X-API-Key: KEY'"
                }
                key = {"Authorization": "Bearer right"}
                assert server.ask(method, path, headers=key).status_code != 401
                assert server.ask(method, path, headers={"X-API-Key": "x"}).status_code == 401
            server.ask("POST", "/v2/repository/models/m/load", headers={"X-API-Key": "right"})
            for path in (*opened, metrics):
                assert server.ask("GET", path).status_code == (200 if is_open else 401)
            preflight = server.ask(
                "OPTIONS", "/v1/models/m:predict", headers={"Origin": "http://a"}
            )
            assert preflight.status_code == 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ""),
        ("", ""),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("deflate", "deflate"),
        ("br, gzip;q=0.1", "gzip"),
        ("gzip;q=0, deflate", "deflate"),
        ("gzip;q=0.000", ""),
        ("*", "gzip"),
        ("*;q=0", ""),
        ("identity", ""),
        ("gzip;q=x", "gzip"),
    ],
)
def test_a_reply_is_packed_as_the_client_accepts(text: str | None, expected: str) -> None:
    headers = {} if text is None else {b"accept-encoding": text.encode()}
    assert accepts(headers) == expected
