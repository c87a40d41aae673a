"""The translation of each op of StableHLO and CHLO: stablehlo_ops.md of `make pages`."""

import importlib
from typing import Any

HEAD = """# Ops of StableHLO

What `load` makes of every op of a module that JAX wrote, and why of some nothing. Written by
`make pages` from the functions that translate. Regions of `reduce`, `scatter`, `sort` and the like
are recognised where TensorFlow has their op whole; else they run on arrays, which takes regions of
element-wise ops. [Coming from JAX](../../docs/coming_from/jax.md) says what that comes to.
"""
LOWERING = "pinnace.saved_model.stablehlo.lowering."


def page() -> str:
    """The whole document."""
    importlib.import_module(LOWERING.rstrip("."))
    lowerings = importlib.import_module(f"{LOWERING}registry").LOWERINGS
    refused = importlib.import_module(f"{LOWERING}refused").REFUSED
    names = importlib.import_module("pinnace.saved_model.stablehlo.op_fields").op_names()
    plain = [name for name in names if name != "return"]
    calls = sorted(name.partition(" ")[2] for name in lowerings if name.startswith("custom_call "))
    composites = sorted(
        name.partition(" ")[2] for name in lowerings if name.startswith("composite ")
    )
    return "\n".join(
        [
            HEAD,
            f"{len(plain) - len(refused)} of {len(plain)} ops are translated.\n",
            "## Translated\n\n| op | what it becomes |\n|---|---|",
            *(_row(name, lowerings[name]) for name in plain if name not in refused),
            "\n## Refused\n\n| op | why |\n|---|---|",
            *(f"| `{name}` | {refused[name]} |" for name in plain if name in refused),
            "\n## Custom calls\n\nAny other is refused by name.\n",
            "| call | what it becomes |\n|---|---|",
            *(_row(name, lowerings[f"custom_call {name}"]) for name in calls),
            "\n## Composites\n\nAny other is translated by its parts, which the module has.\n",
            "| op | what it becomes |\n|---|---|",
            *(_row(name, lowerings[f"composite {name}"]) for name in composites),
            "",
        ]
    )


def _row(name: str, lowering: Any) -> str:
    text = (lowering.__doc__ or "").strip().split("\n", 1)[0]
    return f"| `{name}` | {text} |"
