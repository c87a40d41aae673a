"""RemoteMonitor: sends the logs of an epoch to a server."""

from __future__ import annotations

import json
import urllib.parse
import warnings
from typing import TYPE_CHECKING, Any

from pinnace.keras.callbacks.callback import Callback

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 30.0


class RemoteMonitor(Callback):
    """Sends a POST with the logs of each epoch; a server that cannot be reached is warned of.

    Args:
        root: address of the server.
        path: added to it.
        field: name of the field of the form that the logs are in, as JSON.
        headers: further headers.
        send_as_json: whether the body is the JSON itself, and no form.

    Raises:
        ValueError: `root` is neither http nor https.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Mapping[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        if urllib.parse.urlsplit(root).scheme not in {"http", "https"}:
            raise ValueError(
                f"RemoteMonitor: root must begin with http:// or https://, got {root!r}"
            )
        self.root = root
        self.path = path
        self.field = field
        self.headers = headers
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Send the epoch's number and logs."""
        import urllib.request  # it imports http, email and ssl, which few programs need

        numbers = {name: _plain(value) for name, value in (logs or {}).items()}
        told = json.dumps({"epoch": epoch, **numbers})
        if self.send_as_json:
            body, kind = told, "application/json"
        else:
            body = urllib.parse.urlencode({self.field: told})
            kind = "application/x-www-form-urlencoded"
        request = urllib.request.Request(
            self.root + self.path,
            data=body.encode(),
            headers={"Content-Type": kind, **(self.headers or {})},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                pass
        except OSError as error:
            warnings.warn(
                f"Could not reach RemoteMonitor root server at {self.root}: {error}", stacklevel=2
            )


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number."""
    return value.item() if hasattr(value, "item") else value
