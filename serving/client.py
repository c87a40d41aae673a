"""A client of the server, or of TensorFlow Serving: arrays in, arrays out.

with Client("http://localhost:8501") as client:
    probabilities = client.predict("digits", instances=images)
"""

from __future__ import annotations

import base64
import json
from typing import Any, Self, TypeAlias
from urllib.parse import quote

import httpx
import numpy as np
import numpy.typing as npt

from pinnace.framework import errors

Array: TypeAlias = npt.NDArray[Any]

_ERRORS: dict[int, type[errors.OpError]] = {
    400: errors.InvalidArgumentError,
    401: errors.UnauthenticatedError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    408: errors.DeadlineExceededError,
    409: errors.AbortedError,
    413: errors.ResourceExhaustedError,
    429: errors.ResourceExhaustedError,
    499: errors.CancelledError,
    501: errors.UnimplementedError,
    503: errors.UnavailableError,
    504: errors.DeadlineExceededError,
}


class Client:
    """Sends prediction requests over HTTP.

    Args:
        url: the server's URL, `http://localhost:8501`.
        timeout_s: longest time to wait for an answer.
    """

    def __init__(self, url: str, timeout_s: float = 30.0) -> None:
        self._url = url.rstrip("/")
        self._http = httpx.Client(timeout=timeout_s)

    def predict(
        self,
        model: str,
        instances: object = None,
        inputs: object = None,
        *,
        signature_name: str | None = None,
        version: int | None = None,
        label: str | None = None,
    ) -> Array | dict[str, Array]:
        """Return the model's answer.

        Args:
            model: its name.
            instances: one entry per example: an array, a list, or a list of objects with one value
                per input.
            inputs: in place of `instances`: whole arrays, by name if there are several.
            signature_name: the signature; None is `serving_default`.
            version: the version; None is the newest.
            label: the name of a version, in place of its number.

        Returns:
            An array, or arrays by name if the signature has several outputs. JSON has no dtypes:
            floats come as float64.

        Raises:
            ValueError: not one of `instances` and `inputs` is given.
            InvalidArgumentError: the server did not accept the inputs; the message says why.
            NotFoundError: the server has no such model or version.
            UnavailableError: there is no server, or it is too busy.
            DeadlineExceededError: the answer took too long.
            OpError: anything else that went wrong, by its code.
        """
        if (instances is None) == (inputs is None):
            raise ValueError("predict: give either instances or inputs")
        key, value = ("inputs", inputs) if instances is None else ("instances", instances)
        body: dict[str, object] = {key: _plain(value)}
        if signature_name is not None:
            body["signature_name"] = signature_name
        reply = self._ask("POST", f"{_path(model, version, label)}:predict", json.dumps(body))
        return _arrays(reply["predictions" if "predictions" in reply else "outputs"], key)

    def status(self, model: str, version: int | None = None) -> list[dict[str, Any]]:
        """The status of a model's versions, newest first."""
        reply = self._ask("GET", _path(model, version, None))
        statuses: list[dict[str, Any]] = reply["model_version_status"]
        return statuses

    def metadata(self, model: str, version: int | None = None) -> dict[str, Any]:
        """The signatures of a model: `{"model_spec": …, "metadata": …}`."""
        return self._ask("GET", f"{_path(model, version, None)}/metadata")

    def is_ready(self) -> bool:
        """Whether the server is reachable and all its models are ready."""
        try:
            return self._http.get(f"{self._url}/readyz").is_success
        except httpx.HTTPError:
            return False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        url = self._url + path
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            response = self._http.request(method, url, content=body, headers=headers)
        except httpx.TimeoutException:
            raise errors.DeadlineExceededError(f"{url}: no answer in time") from None
        except httpx.HTTPError as error:
            raise errors.UnavailableError(f"{url}: no server answers: {error}") from None
        except httpx.InvalidURL as error:
            raise errors.InvalidArgumentError(f"{url}: {error}") from None
        try:
            reply = json.loads(response.content)  # knows NaN and Infinity
        except ValueError:
            reply = None
        if response.is_success and isinstance(reply, dict):
            return reply
        text = reply.get("error") if isinstance(reply, dict) else response.text[:256]
        kind = _ERRORS.get(response.status_code, errors.InternalError)
        raise kind(f"{url}: {response.status_code}: {text}")


def _path(model: str, version: int | None, label: str | None) -> str:
    path = f"/v1/models/{quote(model, safe='')}"
    if version is not None:
        return f"{path}/versions/{version}"
    return path if label is None else f"{path}/labels/{quote(label, safe='')}"


def _plain(value: object) -> object:
    """A value as `json` can write it: arrays as lists, bytes as base64."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) is float else _plain(item) for item in value]
    return value


def _arrays(reply: Any, key: str) -> Array | dict[str, Array]:
    """Outputs as arrays: rows of named values, named values, or a single value."""
    if isinstance(reply, dict) and set(reply) != {"b64"}:
        return {name: _array(value) for name, value in reply.items()}
    if key == "instances" and reply and isinstance(reply[0], dict) and set(reply[0]) != {"b64"}:
        return {name: _array([row[name] for row in reply]) for name in reply[0]}
    return _array(reply)


def _array(value: object) -> Array:
    value = _unpacked(value)
    if _has_text(value):
        return np.array(value, dtype=object)
    return np.array(value)


def _unpacked(value: object) -> object:
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    return value


def _has_text(value: object) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, str | bytes)
