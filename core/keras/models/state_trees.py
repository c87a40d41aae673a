"""State trees: all variables of a model as nested dicts by the components of their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.variable import Variable
    from pinnace.keras.models.model import Model

_FORMATS = ("backend_tensor", "numpy_array")


def tree_of(model: Model, value_format: str) -> dict[str, Any]:
    """See `Model.get_state_tree`."""
    if value_format not in _FORMATS:
        raise ValueError(
            f"get_state_tree: value_format must be {' or '.join(map(repr, _FORMATS))}, got "
            f"{value_format!r}"
        )
    return {name: _nested(variables, value_format) for name, variables in _kinds_of(model).items()}


def set_tree(model: Model, tree: Mapping[str, Any]) -> None:
    """See `Model.set_state_tree`."""
    kinds = _kinds_of(model)
    unknown = sorted(set(tree) - set(kinds))
    if unknown:
        raise ValueError(
            f"set_state_tree: the keys of state_tree must be among {', '.join(kinds)}, got "
            f"{', '.join(unknown)}"
        )
    for name, values in tree.items():
        flat = _flat(values, "")
        for variable in kinds[name]:
            path = _path_of(variable)
            if path in flat:
                variable.assign(flat[path])


def _kinds_of(model: Model) -> dict[str, Sequence[Variable]]:
    return {
        "trainable_variables": model.trainable_variables,
        "non_trainable_variables": model.non_trainable_variables,
        "optimizer_variables": [] if model.optimizer is None else model.optimizer.variables,
        "metrics_variables": model.metrics_variables,
    }


def _path_of(variable: Variable) -> str:
    return variable.node_name


def _nested(variables: Sequence[Variable], value_format: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for variable in variables:
        path = _path_of(variable)
        if path in seen:
            raise ValueError(
                "get_state_tree: The following variable path is found twice in the model: "
                f"{path!r}\n"
                "  Try: another name for one of the layers or metrics"
            )
        seen.add(path)
        *outer, last = path.split("/")
        inside = found
        for part in outer:
            inside = inside.setdefault(part, {})
        inside[last] = variable.numpy() if value_format == "numpy_array" else variable.read_value()
    return found


def _flat(tree: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found.update(_flat(value, f"{prefix}{name}/"))
        else:
            found[f"{prefix}{name}"] = value
    return found
