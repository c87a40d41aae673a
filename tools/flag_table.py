"""The flags of `pinnace serve`: flags.md of `make pages`, written from the parser."""

import importlib

HEAD = """# Flags of `pinnace serve`

Written by `make pages`. Flags may be spelt with `_` or `-`, and with `=` or a space before the
value.
"""


def page() -> str:
    """The whole document."""
    parts = [HEAD]
    for title, actions in importlib.import_module("pinnace.serving.flags").flags():
        rows = "\n".join(f"| `{flag}` | {text} |" for flag, text in actions)
        parts.append(f"{title}\n\n| flag | |\n|---|---|\n{rows}\n")
    return "\n".join(parts)
