"""Permission to change the served models: denied unless a flag or an API key grants it.

Loading a model runs its program; unloading a model ends its service.
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
        settings: whether control is allowed. With API keys it is, since their holders are known.
    """

    def __init__(self, settings: Settings) -> None:
        self._is_on = settings.model_control or bool(settings.api_keys_file)
        self._takes_urls = settings.model_control_urls

    def check(self, headers: RequestHeaders) -> None:
        """Check that the request may change the served models.

        Args:
            headers: names in lower case; an API key in them was checked before.

        Raises:
            PermissionDeniedError: control is disabled, or a page of another origin sends this.
        """
        if not self._is_on:
            raise PermissionDeniedError(
                "Requests cannot load or unload models: the server was started without this\n"
                "  Try: pinnace serve --model_control, or --api_keys_file, whose keys allow it"
            )
        check_origin(headers)

    def check_sources(self, models: Iterable[ModelConfig]) -> None:
        """Check that a client may name the paths of these models.

        Args:
            models: the models that it wants to serve.

        Raises:
            PermissionDeniedError: a path is a URL, and no flag allows that.
        """
        for model in models:
            if is_remote(model.base_path) and not self._takes_urls:
                url = public_url(model.base_path)[:200]
                raise PermissionDeniedError(
                    f"Model '{model.name[:200]}': {url} is a URL, and clients "
                    "may not name URLs to load from\n  Try: pinnace serve --model_control_urls"
                )


def check_origin(headers: RequestHeaders) -> None:
    """Check that no page of another origin sends this: browsers send an `Origin` header.

    Args:
        headers: names in lower case.

    Raises:
        PermissionDeniedError: a page of another origin does.
    """
    origin = headers.get(b"origin")
    if origin is None:
        is_foreign = headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
    else:
        # The scheme may differ behind a proxy that ends TLS.
        place = origin.partition(b"://")[2].lower()
        is_foreign = not place or place != headers.get(b"host", b"").strip().lower()
    if is_foreign:
        shown = "none" if origin is None else origin[:200].decode("latin-1")
        raise PermissionDeniedError(
            f"Only pages of this server may send this request, got Origin: {shown}"
        )
