"""TLS certificates of HTTP and gRPC servers, and the verification of client certificates."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from pinnace.serving.config.settings import Settings

_MAX_FILE_BYTES = 2**22


@dataclass(frozen=True, slots=True)
class Certificates:
    """The server's certificate and key, and the authorities it trusts, as PEM.

    Attributes:
        key: the server's key.
        chain: the server's certificate, then the intermediate ones.
        client_ca: the authorities of client certificates; empty if they are not verified.
        verifies: whether clients must show a certificate.
    """

    key: bytes
    chain: bytes
    client_ca: bytes = b""
    verifies: bool = False


class Credentials:
    """The TLS credentials of a server's fronts; they can be reloaded while it runs.

    Args:
        settings: the settings with the files.

    Raises:
        NotFoundError: a file cannot be read.
        InvalidArgumentError: a file is invalid.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = of_files(settings)
        self._grpc = of_config(settings.ssl_config_file) or self._http
        self.context: ssl.SSLContext | None = None
        if self._http is not None:
            self._shown = make_context(self._http)
            self.context = make_context(self._http)
            self.context.sni_callback = self._hand_over
        if self._grpc is not None and self._grpc is not self._http:
            make_context(self._grpc)  # gRPC's error would not say what is wrong

    def reload(self) -> None:
        """Read the files again, for new connections. In any thread.

        Raises:
            NotFoundError: a file cannot be read.
            InvalidArgumentError: a file is invalid.
        """
        http = of_files(self._settings)
        grpc = of_config(self._settings.ssl_config_file) or http
        shown = None if http is None else make_context(http)
        if grpc is not None and grpc is not http:
            make_context(grpc)
        if shown is not None:
            self._shown = shown
        self._http, self._grpc = http, grpc

    def _hand_over(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _: str | None, __: ssl.SSLContext
    ) -> None:
        """Continue a handshake with the latest context.

        A context in use must not change: between a new certificate and its key handshakes fail, and
        authorities can be added to it, but not removed.
        """
        connection.context = self._shown

    def for_grpc(self) -> Certificates | None:
        """The current certificates for gRPC; None for none."""
        return self._grpc


def of_files(settings: Settings) -> Certificates | None:
    """Return the certificates of `tls_cert` and `tls_key`; None if there are none.

    Raises:
        NotFoundError: a file cannot be read.
    """
    if not settings.tls_cert:
        return None
    client_ca = _read(settings.tls_client_ca) if settings.tls_client_ca else b""
    return Certificates(
        _read(settings.tls_key), _read(settings.tls_cert), client_ca, bool(client_ca)
    )


def of_config(path: str) -> Certificates | None:
    """Return the certificates of a TensorFlow Serving SSLConfig text file; None without a file.

    Raises:
        NotFoundError: the file cannot be read.
        InvalidArgumentError: the file is not an SSLConfig, or a part is missing.
    """
    if not path:
        return None
    from google.protobuf import text_format

    from pinnace.proto.server_config_pb2 import SSLConfig

    message = SSLConfig()
    try:
        text_format.Parse(_read(path).decode(), message)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{path}: not an SSLConfig: {error}") from None
    if not message.server_key or not message.server_cert:
        raise InvalidArgumentError(f"{path}: needs server_key and server_cert")
    if message.client_verify and not message.custom_ca:
        raise InvalidArgumentError(f"{path}: client_verify needs custom_ca")
    return Certificates(
        message.server_key.encode(),
        message.server_cert.encode(),
        message.custom_ca.encode(),
        message.client_verify,
    )


def make_context(certificates: Certificates) -> ssl.SSLContext:
    """Return the context of an HTTPS server.

    Raises:
        InvalidArgumentError: OpenSSL refuses the key, the chain or the authorities.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, certificates)
    return context


def _load(context: ssl.SSLContext, certificates: Certificates) -> None:
    # The ssl module reads certificates and keys from files only.
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        for path, content in ((chain, certificates.chain), (key, certificates.key)):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        try:
            context.load_cert_chain(chain, key, password=_no_password)
            if certificates.client_ca:
                context.load_verify_locations(cadata=certificates.client_ca.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise InvalidArgumentError(
                f"TLS: the certificate or key is not usable: {error}"
            ) from None
    if certificates.verifies:
        context.verify_mode = ssl.CERT_REQUIRED


def _no_password() -> str:
    raise InvalidArgumentError("TLS: the key must not be encrypted: its password cannot be entered")


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from None
