"""Creation of variables, through the active variable creators."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Created(type):
    """The metaclass of variables: calls go through the creators of this thread."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A variable of this class, or the result of a creator."""
        if not state.creators or not _is_plainly_made(cls):
            return super().__call__(*args, **kwargs)
        bound = inspect.signature(vars(_maker(cls))["__init__"]).bind(None, *args, **kwargs)
        bound.apply_defaults()
        options = dict(bound.arguments)
        del options["self"]
        return cls._created_by(len(state.creators) - 1, options)

    def _created_by(cls, number: int, options: dict[str, Any]) -> Any:
        if number < 0:
            return super().__call__(**options)

        def next_creator(**given: Any) -> Any:
            return cls._created_by(number - 1, given)

        next_creator.variable_class = cls  # type: ignore[attr-defined]  # for creators of ours
        return state.creators[number](next_creator, **options)

    def made_alone(cls, **options: Any) -> Any:
        """Create a variable without creators."""
        return super().__call__(**options)


def _maker(cls: type) -> type:
    """The class whose constructor it has."""
    return next(kind for kind in cls.__mro__ if "__init__" in vars(kind))


def _is_plainly_made(cls: type) -> bool:
    """Whether the constructor is Variable's, and not one with other parameters."""
    owner = _maker(cls)
    return type(owner) is Created and not any(type(kind) is Created for kind in owner.__mro__[1:])


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Variables created inside the block are created by a function.

    Args:
        variable_creator: takes `next_creator` and, by name, the arguments of `Variable`; gives a
            variable, as `next_creator(**arguments)` does. Creators of blocks around this one come
            after it.

    Raises:
        TypeError: `variable_creator` is no function.
    """
    if not callable(variable_creator):
        raise TypeError(
            "variable_creator_scope: variable_creator must be a function, got "
            f"{type(variable_creator).__name__}: {variable_creator!r}"
        )
    saved, state.creators = state.creators, (*state.creators, variable_creator)
    try:
        yield
    finally:
        state.creators = saved
