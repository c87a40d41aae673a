"""Pictures of signatures: drawn on request, one at a time, a few memoised."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pinnace.framework.errors import NotFoundError, UnimplementedError

if TYPE_CHECKING:
    from pinnace.serving.models.servable import Servable

_MOST_REMEMBERED = 8


class Pictures:
    """The pictures that one server has drawn; those of unloaded versions are dropped."""

    def __init__(self) -> None:
        self._pages: WeakKeyDictionary[Servable, dict[str, bytes]] = WeakKeyDictionary()
        self._turn = asyncio.Lock()

    async def page(self, servable: Servable, signature_name: str) -> bytes:
        """Return a self-contained page that shows the graph of a signature.

        Args:
            servable: the version.
            signature_name: the signature's name.

        Raises:
            NotFoundError: the signature does not exist.
            UnimplementedError: the model has no graph, or one too large to draw.
        """
        if signature_name not in servable.signatures:
            raise NotFoundError(
                f"Model '{servable.name}' has no signature '{signature_name[:200]}'"
            )
        async with self._turn:  # drawing takes a core, so one at a time
            known = self._pages.setdefault(servable, {})
            if signature_name not in known:
                if sum(map(len, self._pages.values())) >= _MOST_REMEMBERED:
                    self._pages.clear()
                    known = self._pages.setdefault(servable, {})
                known[signature_name] = await asyncio.to_thread(_draw, servable, signature_name)
            return known[signature_name]


def _draw(servable: Servable, signature_name: str) -> bytes:
    from pinnace.saved_model.picture.page import picture_page  # late: rarely needed

    graph = getattr(servable.signatures[signature_name], "graph", None)
    if graph is None:
        raise UnimplementedError(f"Model '{servable.name}' has no graph to show")
    title = f"{servable.name} {servable.version}: {signature_name}"
    return picture_page(graph, title).encode()
