"""The state of Keras 2's optimizers, mapped to today's variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pinnace.framework.trackable import Trackable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.variable import Variable

_SLOTS = frozenset({"m", "v", "vhat", "momentum", "rms", "mg", "accumulator", "a", "z", "n"})


def listed(optimizer: Any) -> list[Variable]:
    """The variables of an optimizer in Keras 2's order.

    In these files the learning rate is not in the list of variables, and momentum slots of an SGD
    without momentum are missing.

    Args:
        optimizer: the optimizer with the variables.
    """
    rate = optimizer._learning_rate
    return [v for v in optimizer.variables if v is not rate]


def taken(optimizer: Any, count: int) -> list[tuple[int, Variable]]:
    """The variables of an optimizer, each with the index of its value in a file.

    Args:
        optimizer: built.
        count: number of values in the file.

    Raises:
        ValueError: these are not the values of such an optimizer.
    """
    variables = list(optimizer.variables)
    if count != len(variables):
        variables = listed(optimizer)
    still = type(optimizer).__name__ == "SGD" and not optimizer.momentum
    if count < len(variables) or (count > len(variables) and not still):
        raise ValueError(f"has {len(variables)} variables, the file has {count}")
    return list(enumerate(variables))


# The slots of each variable up to version 2.10, and under `legacy` since.
_KEPT = {
    "Adam": {"m": "momentum", "v": "velocity", "vhat": "velocity_hat"},
    "Adamax": {"m": "momentum", "v": "norm"},
    "Nadam": {"m": "momentum", "v": "velocity"},
    "SGD": {"momentum": "momentum"},
    "RMSprop": {"rms": "velocity", "momentum": "momentum", "mg": "average_gradient"},
    "Adagrad": {"accumulator": "accumulator"},
    "Adadelta": {"accum_grad": "accumulated_grad", "accum_var": "accumulated_delta_var"},
}


def kept(optimizer: Any) -> list[tuple[Variable, str, Variable]]:
    """An optimizer's slots by the names of version 2.10: variable, name, slot.

    Args:
        optimizer: built or not.
    """
    names = _KEPT.get(type(optimizer).__name__, {})
    return [
        (variable, older, optimizer.slot(name, variable))
        for older, name in names.items()
        if name in optimizer._slots
        for variable in optimizer._targets
    ]


class ListedInKeras2(Trackable):
    """The variables of an optimizer, as children in Keras 2's order.

    Args:
        optimizer: the optimizer with the variables.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    def _trackable_children(self) -> dict[str, Trackable]:
        return {str(i): v for i, v in enumerate(listed(self._optimizer))}

    def _when_children_change(self, waiting: Callable[[], bool]) -> None:
        self._optimizer._variables._when_children_change(waiting)


def by_kind(
    optimizer: Any, names: Sequence[str], shapes: Sequence[tuple[int, ...]]
) -> list[tuple[int, Variable]] | None:
    """The values of a file of Keras 1 to 2.3, which numbers them, grouped by slot name.

    Args:
        optimizer: built.
        names: names of the values, in the order of the file.
        shapes: shapes of the values.

    Returns:
        The number of a value and its variable; None if the names are not of such a file.

    Raises:
        ValueError: these are not the values of such an optimizer.
    """
    first = int(bool(shapes) and shapes[0] == ())
    if not names or not all(_NUMBERED.search(name) for name in names[first:]):
        return None
    found: list[tuple[int, Variable]] = [(0, optimizer.iterations)] * first
    targets = optimizer._targets
    each = len(targets)
    for at, slot in enumerate(_KEPT.get(type(optimizer).__name__, {}).values()):
        begin = first + at * each
        if slot not in optimizer._slots or begin + each > len(names):
            continue
        for number, variable in enumerate(targets, begin):
            if shapes[number] != tuple(variable.shape):
                raise ValueError(
                    f"value {number} for {variable.name!r} must have shape {variable.shape.text}, "
                    f"the file has {list(shapes[number])}"
                )
            found.append((number, optimizer.slot(slot, variable)))
    return found


# `training/Adam/variable_3`, `training/Adam/Variable:0`, `training/Adam/m_2`, `param_7`.
_NUMBERED = re.compile(r"(^|/)([A-Za-z]+_\d+|Variable)(:0)?$")


def by_variable(names: Sequence[str]) -> list[int]:
    """The indices of values, reordered so that those of one variable are adjacent.

    Up to version 2.10 they are grouped by slot name: `…/kernel/m:0`, `…/bias/m:0`, `…/kernel/v:0`.

    Args:
        names: names of the values, in the order of the file.
    """
    plain = list(range(len(names)))
    kinds = [name.partition(":")[0].rpartition("/")[2] for name in names[1:]]
    distinct = list(dict.fromkeys(kinds))
    together = [kind for kind in distinct for _ in range(kinds.count(kind))]
    if len(distinct) < 2 or kinds != together or len(set(map(kinds.count, distinct))) != 1:
        return plain
    if not _SLOTS.issuperset(distinct):
        return plain
    each = len(kinds) // len(distinct)
    return [0, *(1 + kind * each + at for at in range(each) for kind in range(len(distinct)))]
