"""Decorators: `functools.wraps` under TensorFlow's names; names that modules export."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def make_decorator(
    target: Callable[..., Any],
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Callable[..., Any]:
    """The decorator's function, as one that wraps the target.

    Args:
        target: the decorated function.
        decorator_func: the function called instead.
        decorator_name: has no effect.
        decorator_doc: has no effect.
        decorator_argspec: has no effect: the arguments are the target's.
    """
    del decorator_name, decorator_doc, decorator_argspec
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """The decorators of a function, outermost first, and the function they decorate."""
    decorators: list[Any] = []

    def see(function: Any) -> bool:
        decorators.append(function)
        return False

    target = inspect.unwrap(maybe_tf_decorator, stop=see)
    return [each for each in decorators if each is not target], target


def tf_export(*names: str, **options: Any) -> Callable[[Any], Any]:
    """A decorator without effect; in TensorFlow it exports a name."""
    del names, options
    return lambda decorated: decorated


keras_export = tf_export
__all__ = ["keras_export", "make_decorator", "tf_export", "unwrap"]
