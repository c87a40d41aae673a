"""The signature of a public name, as code."""

import inspect
import re
from typing import Any

WIDTH = 92
ADDRESS = re.compile(r"<(?:function |class ')?([\w.]+)[^>]*>")


def signature(full: str, value: Any) -> str:
    """The call of a class, function or method, with names and defaults; "" if it tells none.

    Args:
        full: the name to call it by.
        value: the class, function or method.
    """
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
        if parameter.name != "self"
    ]
    arguments = [ADDRESS.sub(r"\1", str(one)) for one in _with_marks(plain)]
    text = f"{full}({', '.join(arguments)})"
    if len(text) > WIDTH:
        text = f"{full}(\n" + "".join(f"    {one},\n" for one in arguments) + ")"
    return f"```python\n{text}\n```"


def parameters(value: Any) -> list[str]:
    """The names of what it is called with; none if it does not tell."""
    try:
        return [name for name in inspect.signature(value).parameters if name != "self"]
    except (TypeError, ValueError):
        return []


def _with_marks(parameters: list[inspect.Parameter]) -> list[Any]:
    """The parameters, with `*` where arguments must be named from."""
    shown: list[Any] = []
    named = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            named = True
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            shown.append("*")
            named = True
        shown.append(parameter)
    return shown
