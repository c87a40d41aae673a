"""Errors on the wire: one table from canonical codes to HTTP status."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from pinnace.framework import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG = logging.getLogger("pinnace.serving")

HTTP_STATUS: Mapping[int, int] = {
    errors.OK: 200,
    errors.CANCELLED: 499,
    errors.UNKNOWN: 500,
    errors.INVALID_ARGUMENT: 400,
    errors.DEADLINE_EXCEEDED: 504,
    errors.NOT_FOUND: 404,
    errors.ALREADY_EXISTS: 409,
    errors.PERMISSION_DENIED: 403,
    errors.RESOURCE_EXHAUSTED: 429,
    errors.FAILED_PRECONDITION: 400,
    errors.ABORTED: 409,
    errors.OUT_OF_RANGE: 400,
    errors.UNIMPLEMENTED: 501,
    errors.INTERNAL: 500,
    errors.UNAVAILABLE: 503,
    errors.DATA_LOSS: 500,
    errors.UNAUTHENTICATED: 401,
}


class RequestTooLargeError(errors.ResourceExhaustedError):
    """A request body is larger than the limit: HTTP 413, which no canonical code maps to."""


class UnservedError(errors.NotFoundError):
    """A request for a model, or a version, that is not served.

    Args:
        name: the model's name.
        version: the version that was requested; None for the newest.
    """

    def __init__(self, name: str, version: int | None = None) -> None:
        asked = f"Latest({name})" if version is None else f"Specific({name}, {version})"
        super().__init__(f"Servable not found for request: {asked}")
        which = "" if version is None else f" version {version}"
        self.unknown = f"Request for unknown model: '{name}'{which} is not found"


class SlowRequestError(errors.DeadlineExceededError):
    """A request body did not arrive in time: HTTP 408, since the client was late."""


class EncodingError(errors.UnimplementedError):
    """A `Content-Encoding` that the server does not support: HTTP 415."""


_OWN_STATUS: Mapping[type[BaseException], int] = {
    RequestTooLargeError: 413,
    SlowRequestError: 408,
    EncodingError: 415,
}


def canonical_code(error: BaseException) -> int:
    """Return the gRPC code of an exception; INTERNAL for unexpected ones.

    Args:
        error: an exception of a handler or a model.
    """
    if isinstance(error, errors.OpError):
        return error.error_code
    if isinstance(error, asyncio.CancelledError):
        return errors.CANCELLED
    if isinstance(error, MemoryError):
        return errors.RESOURCE_EXHAUSTED
    if isinstance(error, TimeoutError):
        return errors.DEADLINE_EXCEEDED
    return errors.INTERNAL


def http_status(error: BaseException) -> int:
    """The HTTP status of an exception: that of its code, or of its class where HTTP has one."""
    own = _OWN_STATUS.get(type(error))
    return HTTP_STATUS.get(canonical_code(error), 500) if own is None else own


def public_message(error: BaseException) -> str:
    """The part of an exception's message that a client may read; never empty."""
    text = str(error)
    if isinstance(error, errors.OpError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def in_triton_words(error: BaseException) -> BaseException:
    """The error's message in Triton's wording, for clients of the Open Inference Protocol."""
    return errors.NotFoundError(error.unknown) if isinstance(error, UnservedError) else error


def one_line(error: BaseException) -> str:
    """The message of an exception in one line, for a terminal or a status."""
    return " ".join(public_message(error).split())
