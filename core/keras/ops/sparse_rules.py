"""Functions of `keras.ops` on SparseTensors and IndexedSlices; see `takes_sparse`.

Source:
    Keras 3.14 with TensorFlow's backend: results have its forms (sparse, slices, dense).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.framework.composite import CompositeTensor
from pinnace.framework.indexed_slices import IndexedSlices

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])


def takes_sparse(rule: str, function: F) -> F:
    """The function, which takes sparse operands too.

    Args:
        rule: the function of `sparse_pairs` or `sparse_shapes` that does it then.
        function: a function of tensors.
    """

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if _has_sparse(x):
                return _rule(rule)(function, *args, **kwargs)
        return function(*args, **kwargs)

    return taking  # type: ignore[return-value]  # of the same signature


def _has_sparse(x: Any) -> bool:
    if type(x) is list or type(x) is tuple:
        return any(_is_sparse(one) for one in x)
    return _is_sparse(x)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, CompositeTensor) and (
        getattr(type(x), "_takes_ops", None) == "sparse" or isinstance(x, IndexedSlices)
    )


def _rule(name: str) -> Callable[..., Any]:
    # Late: few programs have sparse operands.
    from pinnace.keras.ops import sparse_pairs, sparse_shapes

    home: Any = sparse_pairs if hasattr(sparse_pairs, name) else sparse_shapes
    found: Callable[..., Any] = getattr(home, name)
    return found
