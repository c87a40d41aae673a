"""The signature of a traced function as text, in TensorFlow's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.specs import TensorSpec, TypeSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

# Name, kind and spec of one parameter.
Parameter = tuple[str, str, Any]


def parameters_of(
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    names: Sequence[str] = (),
    kinds: Sequence[str] = (),
    rest: str = "args",
) -> list[Parameter]:
    """The parameters of a signature.

    Args:
        arguments: `(args, kwargs)` with specs in the place of tensors.
        names: names of the positional ones, as far as they are known.
        kinds: likewise.
        rest: the name of further ones, with a number.
    """
    args, kwargs = arguments
    # TensorFlow: where `*args` took something, nothing before it can be given by name.
    known = list(kinds)
    if len(args) > len(known):
        known = ["POSITIONAL_ONLY"] * len(args)
    found: list[Parameter] = []
    for index, arg in enumerate(args):
        if index < len(names):
            name = names[index]
        else:
            name = f"{rest}_{index - len(names)}" if names else _named(arg, f"arg_{index}")
        found.append((name, known[index], arg))
    found.extend((name, "KEYWORD_ONLY", kwargs[name]) for name in kwargs)
    return found


def _named(arg: Any, otherwise: str) -> str:
    return arg.name if isinstance(arg, TensorSpec) and arg.name else otherwise


def one_line(parameters: Sequence[Parameter], results: Any) -> str:
    """`(x: ..., *, k: ...) -> ...`."""
    parts = []
    kinds = [kind for _, kind, _ in parameters]
    for index, (name, kind, arg) in enumerate(parameters):
        if kind == "KEYWORD_ONLY" and "KEYWORD_ONLY" not in kinds[:index]:
            parts.append("*")
        parts.append(f"{name}: {_text(arg, name)}")
        after = kinds[index + 1] if index + 1 < len(kinds) else None
        if kind == "POSITIONAL_ONLY" and after != "POSITIONAL_ONLY":
            parts.append("/")
    return f"({', '.join(parts)}) -> {_text(results)}"


def in_full(parameters: Sequence[Parameter], results: Any, captured: Sequence[Tensor]) -> str:
    """One parameter, result or capture per line."""
    lines = ["Input Parameters:"]
    lines += [f"  {name} ({kind}): {_text(arg, name)}" for name, kind, arg in parameters]
    lines += ["Output Type:", f"  {_text(results)}", "Captures:"]
    lines += [f"  {id(one)}: {TensorSpec.of(one.shape, one.dtype)!r}" for one in captured] or [
        "  None"
    ]
    return "\n".join(lines)


def _text(value: Any, name: str | None = None) -> str:
    """A spec, a Python value or a structure of them, written as a type."""
    if isinstance(value, TensorSpec):
        # A spec with the name of its position was not named by the user.
        return repr(value.with_name(None) if value.name == name else value)
    if isinstance(value, TypeSpec):
        return repr(value)
    if isinstance(value, dict):
        parts = [f"[{key!r}, {_text(value[key], _below(name, key))}]" for key in sorted(value)]
        return f"Dict[{', '.join(parts)}]"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = [
            f"[{key!r}, {_text(part, _below(name, key))}]"
            for key, part in zip(value._fields, value, strict=True)
        ]
        return f"{type(value).__name__}[{', '.join(parts)}]"
    if isinstance(value, (list, tuple)):
        kind = "List" if isinstance(value, list) else "Tuple"
        inner = ", ".join(_text(part, _below(name, i)) for i, part in enumerate(value))
        return f"{kind}[{inner}]"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return f"Literal[{value!r}]"
    return f"Weakref[{value!r}]"


def _below(name: str | None, key: object) -> str | None:
    return None if name is None else f"{name}_{key}"


__all__ = ["Parameter", "in_full", "one_line", "parameters_of"]
