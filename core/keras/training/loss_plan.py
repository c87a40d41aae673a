"""The loss of each output of a model, for any nesting of the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import structure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pinnace.keras.losses.loss import Loss

Path = tuple[Any, ...]


@dataclass(frozen=True)
class PlannedLoss:
    """One loss.

    Attributes:
        path: keys and indices that lead to its part of the outputs.
        loss: takes that part, a structure perhaps.
        weight: its factor in the sum, None for 1.
        name: name of the part, without `_loss`.
    """

    path: Path
    loss: Loss
    weight: Any
    name: str


@dataclass(frozen=True)
class _Weighted:
    """A loss with its factor, treated as a leaf."""

    given: Any
    weight: Any


def planned(
    loss: Any,
    weights: Any,
    y_pred: Any,
    names: Sequence[str] | None,
    loss_of: Callable[[Any], Loss],
    *,
    shows_names: bool = True,
) -> list[PlannedLoss]:
    """The losses of the outputs.

    Args:
        loss: one for every output; or a structure of them like that of the outputs, from which
            parts of a dict may be missing; a list in place of a part is several losses of it.
        weights: factors, in the structure of `loss` or flat; None for none.
        y_pred: the outputs.
        names: names of the outputs, flat, if they are known.
        loss_of: returns the Loss for a name, function or object.
        shows_names: whether losses are called by the names of the outputs.

    Raises:
        KeyError: a key or an index that the outputs do not have.
        ValueError: other names in a dict than a list of outputs has; another number of weights.
    """
    given = _with_weights(loss, weights, several=structure.is_nested(y_pred))
    if names is not None and isinstance(given, dict) and not isinstance(y_pred, dict):
        given = _by_name(given, names, y_pred)
    known = _named_like(y_pred, names if shows_names else None)
    if isinstance(given, _Weighted) and structure.is_nested(y_pred):
        one = given
        given = structure.map_structure(lambda _: one, y_pred)
    plan = _Plan(loss_of)
    plan.visit(given, y_pred, known, ())
    return plan.found


class _Plan:
    """Collects the losses while traversing the arguments and the outputs."""

    def __init__(self, loss_of: Callable[[Any], Loss]) -> None:
        self.found: list[PlannedLoss] = []
        self._loss_of = loss_of

    def visit(self, part: Any, output: Any, called: Any, path: Path) -> None:
        """Add the losses for one part of the outputs, named `called`."""
        if part is None:
            return
        if isinstance(part, _Weighted):
            made = self._loss_of(part.given)
            name = _name(path, called, made.name)
            self.found.append(PlannedLoss(path, made, part.weight, name))
        elif isinstance(part, (list, tuple)) and not _fits_flat(part, output):
            if isinstance(output, type(part)):
                self._inside(enumerate(part), output, called, path)
                return
            for item in part:  # several losses of one output
                self.visit(item, output, called, path)
        elif isinstance(part, dict):
            self._inside(part.items(), output, called, path)
        else:
            packed = structure.pack_sequence_as(output, list(part))
            pairs = packed.items() if isinstance(packed, dict) else enumerate(packed)
            self._inside(pairs, output, called, path)

    def _inside(self, items: Iterable[Any], output: Any, called: Any, path: Path) -> None:
        for key, item in items:
            if item is None:
                continue
            if not _has(output, key):
                raise KeyError(
                    f"compile: the entry {(*path, key)}, in the `loss` argument, can't be found "
                    f"in either the model's output or its labels: there are {_keys(output)}"
                )
            self.visit(item, output[key], called[key], (*path, key))


def _fits_flat(part: Sequence[Any], output: Any) -> bool:
    """Whether it has one loss per leaf of an output."""
    if not structure.is_nested(output) or any(map(structure.is_nested, part)):
        return False
    return len(part) == len(structure.flatten(output))


def at(path: Path, value: Any) -> Any:
    """The part of a structure at a path; None if it is missing."""
    for key in path:
        if value is None or not _has(value, key):
            return None
        value = value[key]
    return value


def like_outputs(
    what: str,
    value: Any,
    y_pred: Any,
    names: Sequence[str] | None = None,
    places: Sequence[tuple[Any, ...]] = (),
) -> Any:
    """Targets or sample weights in the structure of the outputs.

    Args:
        what: for messages: `y`.
        value: a structure like that of the outputs; a dict by their names; as many leaves as they
            have; or one for each of `places`.
        y_pred: the outputs.
        names: names of the outputs, flat, if they are known.
        places: paths of the outputs that a loss is taken of.

    Raises:
        ValueError: the number of entries differs.
    """
    if not structure.is_nested(y_pred):
        alone = isinstance(value, (list, tuple)) and len(value) == 1
        if isinstance(value, dict) and names is not None and set(names) == set(value):
            return value[names[0]]
        return value[0] if alone else value
    if isinstance(y_pred, dict) and isinstance(value, dict):
        return {
            key: like_outputs(what, value[key], part) if key in value else None
            for key, part in y_pred.items()
        }
    if isinstance(value, dict) and names is not None and set(names) <= set(value):
        value = [value[name] for name in names]
    lists = isinstance(value, (list, tuple)) and isinstance(y_pred, (list, tuple))
    if lists and len(value) == len(y_pred):
        parts = [like_outputs(what, v, out) for v, out in zip(value, y_pred, strict=True)]
        make: Any = getattr(y_pred, "_make", type(y_pred))
        return make(parts)
    leaves = structure.flatten(value)
    if len(leaves) == len(structure.flatten(y_pred)):
        return structure.pack_sequence_as(y_pred, leaves)
    if len(leaves) == len(places):
        return _by_place(places, leaves)
    wanted = len(structure.flatten(y_pred))
    raise ValueError(
        f"{what} must have {wanted} entries, one per output, got {len(leaves)}: y_true and y_pred "
        f"have different structures.\n  outputs: {_form(y_pred)}   {what}: {_form(value)}"
    )


def _by_place(places: Sequence[Path], leaves: Sequence[Any]) -> dict[Any, Any]:
    """Nested dicts with the leaves at these paths, since outputs without a loss need no target."""
    made: dict[Any, Any] = {}
    for place, leaf in zip(places, leaves, strict=True):
        inside = made
        for key in place[:-1]:
            inside = inside.setdefault(key, {})
        inside[place[-1]] = leaf
    return made


def _form(value: Any) -> str:
    return repr(structure.map_structure(lambda _: "…", value)).replace("'…'", "…")


def _with_weights(loss: Any, weights: Any, *, several: bool) -> Any:
    """`loss` with a factor for each leaf."""
    if weights is None:
        return _map(lambda one: _Weighted(one, None), loss)
    if isinstance(loss, dict) and isinstance(weights, dict):
        strange = sorted(set(weights) - set(loss), key=str)
        if strange:
            raise ValueError(
                f"compile: loss_weights names {', '.join(map(str, strange))}, the losses are "
                f"{', '.join(map(str, loss))}"
            )
        pairs = {key: (part, weights.get(key)) for key, part in loss.items()}
        return {key: _with_weights(*pair, several=False) for key, pair in pairs.items()}
    if not structure.is_nested(loss):
        if not structure.is_nested(weights):
            return _Weighted(loss, _factor(weights))
        if len(structure.flatten(weights)) == 1 and not isinstance(weights, dict):
            return _Weighted(loss, _factor(structure.flatten(weights)[0]))
        if several:  # one loss for all outputs, each with a factor of its own
            return _map(lambda one: _Weighted(loss, _factor(one)), weights)
    leaves, factors = structure.flatten(loss), structure.flatten(weights)
    if len(leaves) != len(factors):
        raise ValueError(
            f"compile: `loss_weights` must match the number of losses, got {len(leaves)} losses "
            f"and {len(factors)} weights"
        )
    items = iter(factors)
    return _map(lambda one: _Weighted(one, _factor(next(items))), loss)


def _factor(weight: Any) -> Any:
    numbers = (int, float, np.number, np.ndarray)
    if weight is not None and not isinstance(weight, numbers):
        raise ValueError(f"compile: loss_weights must be numbers, got {weight!r}")
    return weight


def _map(function: Callable[[Any], Any], loss: Any) -> Any:
    """`function` of each leaf; None among others stays None."""
    if not structure.is_nested(loss):
        return function(loss)
    return structure.map_structure(lambda one: _unless_none(function, one), loss)


def _unless_none(function: Callable[[Any], Any], one: Any) -> Any:
    made = function(one)  # a factor is taken, whether there is a loss or not
    return None if one is None else made


def _by_name(given: dict[Any, Any], names: Sequence[str], y_pred: Any) -> Any:
    """Losses by output name, arranged in the structure of the outputs."""
    if set(given) != set(names):
        raise ValueError(
            f"compile: the keys of `loss` are names of outputs. Expected keys {list(names)}, got "
            f"{list(given)}"
        )
    parts = [given[name] for name in names]
    return parts if isinstance(y_pred, (list, tuple)) else parts[0]


def _named_like(y_pred: Any, names: Sequence[str] | None) -> Any:
    """The names of outputs in their structure; None if unknown, as in Keras."""
    count = len(structure.flatten(y_pred))
    if names is None or len(names) != count:
        return structure.map_structure(lambda _: None, y_pred)
    listed = isinstance(y_pred, (list, tuple)) and not any(map(structure.is_nested, y_pred))
    # In a plain list, duplicate names would not identify outputs.
    if listed and len(set(names)) != count:
        names = [f"output_{index}" for index in range(count)]
    return structure.pack_sequence_as(y_pred, list(names))


def _name(path: Path, called: Any, loss: str) -> str:
    """The name of a part: its keys, with the output's name in place of an index."""
    parts = list(path)
    if not structure.is_nested(called) and (not parts or isinstance(parts[-1], int)):
        parts[-1:] = [loss if called is None else called]
    if parts:
        return "/".join(map(str, parts))
    flat = called if isinstance(called, dict) else structure.flatten(called)
    return "_".join(str(one) for one in flat if one is not None) or loss


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict):
        return key in value
    return isinstance(value, (list, tuple)) and isinstance(key, int) and key < len(value)


def _keys(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(map(str, value))
    return f"{len(value)} entries" if isinstance(value, (list, tuple)) else "one tensor"
