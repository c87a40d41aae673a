"""Who may change the served models: no client, unless a flag or an API key allows it.

Loading a model runs its program; unloading one ends its service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import PermissionDeniedError
from pinnace.serving.config.urls import public_url
from pinnace.serving.models.sources import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.serving.config.model_config import ModelConfig
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.requests.request import RequestHeaders


class ModelControl:
    """Checks requests to load, unload and replace models, for every protocol.

    Args:
        settings: whether it is allowed at all. With API keys it is: their holders are known.
    """

    def __init__(self, settings: Settings) -> None:
        self._is_on = settings.model_control or bool(settings.api_keys_file)
        self._takes_urls = settings.model_control_urls

    def check(self, headers: RequestHeaders) -> None:
        """Raise unless the request may change the models that are served.

        Args:
            headers: names in lower case; an API key in them was checked before.

        Raises:
            PermissionDeniedError: control is switched off, or a page of another origin asks.
        """
        if not self._is_on:
            raise PermissionDeniedError(
                "Models are not loaded or unloaded on request: the server was started without it\n"
                "  Try: pinnace serve --model_control, or --api_keys_file, with which keys may"
            )
        check_origin(headers)

    def check_sources(self, models: Iterable[ModelConfig]) -> None:
        """Raise unless a client may name the paths of these models.

        Args:
            models: that it asks to serve.

        Raises:
            PermissionDeniedError: one lies at a URL, and no flag allows that.
        """
        for model in models:
            if is_remote(model.base_path) and not self._takes_urls:
                url = public_url(model.base_path)[:200]
                raise PermissionDeniedError(
                    f"Model '{model.name[:200]}': {url} is a URL, and clients "
                    "may not name URLs to load from\n  Try: pinnace serve --model_control_urls"
                )


def check_origin(headers: RequestHeaders) -> None:
    """Raise if a page of another origin sends this: browsers send an `Origin` header.

    Args:
        headers: names in lower case.

    Raises:
        PermissionDeniedError: one does.
    """
    origin = headers.get(b"origin")
    if origin is None:
        is_foreign = headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
    else:
        # The scheme may be another one, behind a proxy that ends TLS.
        place = origin.partition(b"://")[2].lower()
        is_foreign = not place or place != headers.get(b"host", b"").strip().lower()
    if is_foreign:
        shown = "none" if origin is None else origin[:200].decode("latin-1")
        raise PermissionDeniedError(
            f"Only pages of this server may send this request, got Origin: {shown}"
        )
