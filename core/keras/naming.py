"""keras.name_scope and keras.version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.framework import context
from pinnace.framework.no_effect import no_effect

if TYPE_CHECKING:
    import contextlib
    from types import TracebackType

# The version of Keras whose names, file formats and numbers are reproduced.
VERSION = "3.15.1"


def version() -> str:
    """The version of Keras whose names, file formats and numbers are reproduced."""
    return VERSION


class name_scope:  # noqa: N801 (Keras's name)
    """Prefixes names of variables and nodes created inside the block by `name/`.

    A layer's weights are named by the block that the layer was made in.

    Args:
        name: name of the block, without a slash.
        **kwargs: `caller`, `deduplicate`, `override_parent`, which Keras' layers give: they have no
            effect, which a warning says.

    Raises:
        ValueError: a name with a slash, or none.
        TypeError: unsupported argument.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        for argument in kwargs:
            if argument not in {"caller", "deduplicate", "override_parent"}:
                raise TypeError(f"name_scope: there is no argument {argument!r}")
            no_effect("name_scope", argument, "blocks follow one another as they are written")
        if not isinstance(name, str) or "/" in name:
            raise ValueError(f"name_scope: name must be a text without a slash, got {name!r}")
        self.name = name
        self._blocks: list[contextlib.AbstractContextManager[str]] = []

    def __enter__(self) -> Self:
        block = context.name_scope(self.name)
        block.__enter__()
        self._blocks.append(block)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._blocks.pop().__exit__(kind, error, trace)
