"""TLS for HTTP and gRPC, with certificates created by openssl."""

import itertools
import shutil
import signal
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from pinnace.serving.config.settings import Settings
from pinnace.serving.tls import Credentials
from unit.serving.numpy_models import write_version
from unit.serving.test_process import process, read_url, wait_for

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="needs openssl")


def make_authority(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            *(str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={name}", "-out", str(certificate)),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def context_for(authority: Path, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority))
    if own is not None:
        context.load_cert_chain(*own)
    return context


@contextmanager
def ignored_hangups() -> Iterator[None]:
    """Processes start as under nohup: a server still reloads on SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def serial(url: str, context: ssl.SSLContext) -> object:
    with httpx.Client(verify=context) as client, client.stream("GET", f"{url}/healthz") as reply:
        return reply.extensions["network_stream"].get_extra_info("ssl_object").getpeercert()


def fails_with(error: type[Exception], work: Callable[[], object]) -> bool:
    try:
        work()
    except error:
        return True
    return False


def test_https_and_grpc_speak_tls_and_ask_clients_for_theirs(tmp_path: Path) -> None:
    grpc = pytest.importorskip("grpc")
    write_version(tmp_path / "half", 1, 2)
    certificate, key = make_authority(tmp_path, "server")
    client = make_authority(tmp_path, "client")
    stranger = make_authority(tmp_path, "stranger")
    port = free_port()
    flags = (
        "--rest_api_port=0",
        f"--port={port}",
        f"--tls_cert={certificate}",
        f"--tls_key={key}",
        f"--tls_client_ca={client[0]}",
    )
    with ignored_hangups(), process(*flags, f"half={tmp_path / 'half'}") as server:
        url, _ = read_url(server)
        assert url.startswith("https://")
        known = context_for(certificate, client)
        wait_for(lambda: not fails_with(httpx.HTTPError, lambda: serial(url, known)))
        path = f"{url}/v1/models/half:predict"
        reply = httpx.post(path, json={"instances": [1]}, verify=known)
        assert reply.json() == {"predictions": [2.5]}
        for context in (context_for(certificate), context_for(certificate, stranger)):
            with pytest.raises(httpx.HTTPError):
                httpx.get(f"{url}/healthz", verify=context)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{url.replace('https', 'http')}/healthz")

        def check(own: tuple[Path, Path] | None) -> bool:
            pair = (None, None) if own is None else (own[1].read_bytes(), own[0].read_bytes())
            credentials = grpc.ssl_channel_credentials(certificate.read_bytes(), *pair)
            with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
                ask = channel.unary_unary("/grpc.health.v1.Health/Check")
                found = ask(HealthCheckRequest().SerializeToString(), timeout=10)
            return HealthCheckResponse.FromString(found).status == HealthCheckResponse.SERVING

        assert check(client)
        assert fails_with(grpc.RpcError, lambda: check(None))
        assert fails_with(grpc.RpcError, lambda: check(stranger))

        before = serial(url, known)  # new certificates without a restart
        make_authority(tmp_path, "server")
        server.send_signal(1)
        renewed = context_for(certificate, client)
        wait_for(lambda: not fails_with(httpx.HTTPError, lambda: serial(url, renewed)))
        assert serial(url, renewed) != before
        assert check(client)


def shake_hands(
    server: ssl.SSLContext, client: ssl.SSLContext, name: str | None
) -> tuple[bytes | None, bytes]:
    """A handshake without a network: the client's view of the server, and the data it reads."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    front = server.wrap_bio(there, back, server_side=True)
    far = client.wrap_bio(back, there, server_hostname=name)
    for _ in range(4):
        for side in (far, front):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    front.write(b"hello")
    return far.getpeercert(binary_form=True), far.read()


def settings_of(certificate: Path, key: Path, authority: Path) -> Settings:
    return Settings(
        tls_cert=str(certificate), tls_key=str(key), tls_client_ca=str(authority), rest_api_port=0
    )


@pytest.mark.parametrize("name", ["localhost", None])
def test_new_certificates_and_authorities_take_the_place_of_old_ones(
    tmp_path: Path, name: str | None
) -> None:
    certificate, key = make_authority(tmp_path, "server")
    old, new = make_authority(tmp_path, "old"), make_authority(tmp_path, "new")
    trusted = tmp_path / "clients.pem"
    shutil.copy(old[0], trusted)
    credentials = Credentials(settings_of(certificate, key, trusted))
    server = credentials.context
    assert server is not None

    def seen(own: tuple[Path, Path]) -> bytes | None:
        client = context_for(certificate, own)
        client.check_hostname = name is not None
        shown, text = shake_hands(server, client, name)
        assert text == b"hello"
        return shown

    first = seen(old)
    assert first == ssl.PEM_cert_to_DER_cert(certificate.read_text())
    assert fails_with(ssl.SSLError, lambda: seen(new))
    make_authority(tmp_path, "server")
    shutil.copy(new[0], trusted)
    credentials.reload()
    second = seen(new)
    assert second == ssl.PEM_cert_to_DER_cert(certificate.read_text()) != first
    assert fails_with(ssl.SSLError, lambda: seen(old))
    # Invalid files change nothing.
    certificate.write_text("no certificate")
    with pytest.raises(InvalidArgumentError):
        credentials.reload()
    good = tmp_path / "good.pem"
    good.write_text(ssl.DER_cert_to_PEM_cert(second or b""))
    client = context_for(good, new)
    client.check_hostname = name is not None
    assert shake_hands(server, client, name) == (second, b"hello")


def test_no_handshake_fails_while_certificates_change(tmp_path: Path) -> None:
    pairs = [make_authority(tmp_path, name) for name in ("one", "two")]
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    shutil.copy(pairs[0][0], certificate)
    shutil.copy(pairs[0][1], key)
    credentials = Credentials(settings_of(certificate, key, pairs[0][0]))
    server = credentials.context
    assert server is not None
    client = context_for(pairs[0][0], pairs[0])
    client.load_verify_locations(pairs[1][0])
    stop = threading.Event()

    def renew() -> None:
        for turn in itertools.count():
            shutil.copy(pairs[turn % 2][0], certificate)
            shutil.copy(pairs[turn % 2][1], key)
            credentials.reload()
            if stop.is_set():
                return

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        found = {shake_hands(server, client, "localhost") for _ in range(300)}
    finally:
        stop.set()
        thread.join()
    assert {text for _, text in found} == {b"hello"}
    assert {shown for shown, _ in found} == {
        ssl.PEM_cert_to_DER_cert(pair[0].read_text()) for pair in pairs
    }


def test_tensorflow_servings_file_is_for_grpc_alone(tmp_path: Path) -> None:
    certificate, key = make_authority(tmp_path, "server")
    config = tmp_path / "ssl.config"
    quoted = [repr(path.read_text()).replace("'", '"') for path in (key, certificate)]
    config.write_text(f"server_key: {quoted[0]}\nserver_cert: {quoted[1]}\nclient_verify: false\n")
    credentials = Credentials(Settings(ssl_config_file=str(config)))
    assert credentials.context is None
    if pytest.importorskip("grpc"):
        assert credentials.for_grpc() is not None
    assert Credentials(Settings()).for_grpc() is None


def test_what_is_no_certificate_fails_the_start(tmp_path: Path) -> None:
    certificate, key = make_authority(tmp_path, "server")
    other = make_authority(tmp_path, "other")[1]
    text = tmp_path / "text"
    text.write_text("no certificate")
    for cert, its_key in ((text, key), (certificate, text), (certificate, other)):
        with pytest.raises(InvalidArgumentError, match="the certificate or key is not usable"):
            Credentials(Settings(tls_cert=str(cert), tls_key=str(its_key)))
    with pytest.raises(NotFoundError, match="none: cannot be read"):
        Credentials(Settings(tls_cert=str(tmp_path / "none"), tls_key=str(key)))
    with pytest.raises(InvalidArgumentError, match="belong together"):
        Settings(tls_cert=str(certificate))
    with pytest.raises(InvalidArgumentError, match="not an SSLConfig"):
        Credentials(Settings(ssl_config_file=str(text)))
    text.write_text("client_verify: true server_key: 'a' server_cert: 'b'")
    with pytest.raises(InvalidArgumentError, match="client_verify needs custom_ca"):
        Credentials(Settings(ssl_config_file=str(text)))


def free_port() -> int:
    from pinnace.serving.process import bind

    with bind("127.0.0.1", 0) as listener:
        port: int = listener.getsockname()[1]
        return port
