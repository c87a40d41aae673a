"""Vectorization of functions of scalars or small arrays."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.functions.control import mapping
from pinnace.ops.array import broadcasting, reshaping, shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pinnace.framework.tensor import Tensor

_NAME = r"\w+"
_ARGUMENT = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_ARGUMENTS = rf"{_ARGUMENT}(?:,{_ARGUMENT})*"
_SIGNATURE = re.compile(rf"^({_ARGUMENTS})->({_ARGUMENTS})$")

_Axes = list[tuple[str, ...]]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int] | None = None,
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that applies a function to each of their elements.

    Args:
        pyfunc: takes and gives tensors, scalars if there is no `signature`.
        excluded: positions of arguments that are handed over as they are, as are arguments by
            keyword and those that are None.
        signature: the axes of what `pyfunc` takes and gives, as "(m,n),(n)->(m)".

    Returns:
        A function whose arguments and results have further leading axes, which broadcast.

    Raises:
        ValueError: `pyfunc` is no function, or `signature` of another form.
        TypeError: when called, with another number of arguments or results than `signature` has.
    """
    who = "keras.ops.vectorize"
    if not callable(pyfunc):
        raise ValueError(  # noqa: TRY004 (Keras' type)
            f"{who}: Expected argument `pyfunc` to be a callable, got {pyfunc!r}"
        )
    taken, given = (None, None) if signature is None else _parsed(who, signature)
    left_out = frozenset(excluded or ())

    @functools.wraps(pyfunc)
    def called(*args: Any, **kwargs: Any) -> Any:
        places = [i for i, x in enumerate(args) if i not in left_out and x is not None]
        tensors: list[Tensor] = [convert_to_tensor(args[i]) for i in places]
        axes = [()] * len(tensors) if taken is None else taken
        if len(axes) != len(tensors):
            raise TypeError(
                f"{who}: wrong number of positional arguments: signature {signature!r} has "
                f"{len(axes)}, got {len(tensors)}"
            )
        _same_sizes(who, tensors, axes)

        def one(cores: Sequence[Any]) -> Any:
            handed = list(args)
            for place, core in zip(places, cores, strict=True):
                handed[place] = core
            return pyfunc(*handed, **kwargs)

        return _mapped(who, one, tensors, axes, given)

    return called


def _parsed(who: str, signature: str) -> tuple[_Axes, _Axes]:
    match = _SIGNATURE.match(signature.replace(" ", ""))
    if match is None:
        raise ValueError(f"{who}: signature must be as '(m,n),(n)->(m)', got {signature!r}")
    taken, given = (
        [tuple(re.findall(_NAME, one)) for one in re.findall(_ARGUMENT, side)]
        for side in match.groups()
    )
    return taken, given


def _same_sizes(who: str, tensors: list[Tensor], axes: Sequence[tuple[str, ...]]) -> None:
    sizes: dict[str, int] = {}
    for x, names in zip(tensors, axes, strict=True):
        known = x.shape.as_list()
        if len(known) < len(names):
            raise ValueError(
                f"{who}: an argument must have the {len(names)} axes {names} at least, got shape "
                f"{x.shape.text}"
            )
        for name, size in zip(names, known[len(known) - len(names) :], strict=True):
            if size is not None and sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"{who}: inconsistent size for core dimension {name}: {size} and {sizes[name]}"
                )


def _mapped(
    who: str,
    one: Callable[[Sequence[Any]], Any],
    tensors: list[Tensor],
    axes: Sequence[tuple[str, ...]],
    given: _Axes | None,
) -> Any:
    """`one`, applied to the elements of tensors with broadcast leading axes."""
    lead: Any = None
    for x, names in zip(tensors, axes, strict=True):
        own = x.shape[: len(x.shape) - len(names)]
        lead = own if lead is None else shapes.broadcast_static_shape(lead, own)
    outer = [] if lead is None else lead.as_list()
    if not outer:
        return _checked(who, one(tensors), given)
    rows = []
    for x, names in zip(tensors, axes, strict=True):
        core = x.shape.as_list()[len(x.shape) - len(names) :]
        whole = broadcasting.broadcast_to(x, [*outer, *core])
        rows.append(reshaping.reshape(whole, [-1, *core]))
    found = mapping.vectorized_map(lambda cores: _checked(who, one(cores), given), tuple(rows))

    def unfolded(x: Tensor) -> Tensor:
        return reshaping.reshape(x, [*outer, *x.shape.as_list()[1:]])

    return (
        tuple(unfolded(x) for x in found) if isinstance(found, (tuple, list)) else unfolded(found)
    )


def _checked(who: str, results: Any, given: _Axes | None) -> Any:
    count = len(results) if isinstance(results, (tuple, list)) else 1
    if given is not None and count != len(given):
        raise TypeError(
            f"{who}: wrong number of output arguments: the signature has {len(given)}, the "
            f"function gave {count}"
        )
    return results
