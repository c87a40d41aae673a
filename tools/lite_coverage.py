"""Which ops become LiteRT's operators, and which of these are read: lite_coverage.md."""

import importlib

HEAD = """# Ops in .tflite files

What `pinnace export MODEL out.tflite` makes of every op. Written by `make pages`. Half precision
and float64 are computed in float32, narrow integers in int32 where a kernel has no others.
"""


def page() -> str:
    """The whole document."""
    importlib.import_module("pinnace.deploy.lite")
    registry = importlib.import_module("pinnace.deploy.lite.converters.registry")
    unsupported = importlib.import_module("pinnace.deploy.lite.converters.unsupported")
    registered = importlib.import_module("pinnace.ops.registry").registered()
    families: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    found = registry.converters()
    for name, op in registered.items():
        if op.traceless:
            refused.setdefault("says or checks something while it runs: left out", []).append(name)
        elif name in found:
            one = found[name]
            family = one.function.__module__.rpartition(".")[2]
            operators = ", ".join(one.operators) or "nothing: its input goes on"
            families.setdefault(family, []).append(f"| {name} | {operators} |")
        else:
            refused.setdefault(unsupported.reason_of(name), []).append(name)
    count = sum(map(len, families.values()))
    parts = [HEAD, f"{count} of {len(registered)} ops are converted.\n"]
    for family in sorted(families):
        title = family.replace("_", " ")
        rows = "\n".join(families[family])
        parts.append(f"## {title.capitalize()}\n\n| op | built-in operators |\n|---|---|\n{rows}\n")
    parts += ["## Not converted\n", "| ops | why |", "|---|---|"]
    parts += [f"| {', '.join(names)} | {reason} |" for reason, names in sorted(refused.items())]
    parts += _read()
    return "\n".join(parts) + "\n"


def _read() -> list[str]:
    """The handling of the operators of a file that is read."""
    kinds = importlib.import_module("pinnace.deploy.lite.ir.kinds").NUMBERS
    readers = importlib.import_module("pinnace.deploy.lite.reading.registry").readers()
    reason_of = importlib.import_module("pinnace.deploy.lite.reading.unsupported").reason_of
    families: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for kind in kinds:
        if kind in readers:
            family = readers[kind].function.__module__.rpartition(".")[2]
            families.setdefault(family.replace("_", " "), []).append(kind)
        else:
            refused.setdefault(reason_of(kind), []).append(kind)
    return [
        "",
        f"## Read back\n\nOf {len(kinds)} operators of the format {len(readers)} are read.\n",
        "| about | operators |\n|---|---|",
        *(f"| {family} | {', '.join(sorted(families[family]))} |" for family in sorted(families)),
        "\n| not read | why |\n|---|---|",
        *(f"| {', '.join(names)} | {reason} |" for reason, names in sorted(refused.items())),
    ]
