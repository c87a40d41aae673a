"""Which ops become TensorFlow.js: tfjs_ops.md of `make pages`, from the list and the rules."""

import importlib
import inspect
import pkgutil
from typing import Any

HEAD = """# Ops in TensorFlow.js

What `pinnace export --tfjs` makes of every op. Written by `make pages` from the list of ops that
@tensorflow/tfjs-converter {version} runs, and from the rules of deploy/tfjs/graph/rules.
`make edge` runs the cases of all ops in TensorFlow.js, on `cpu` and `wasm`, and compares.

- **as it is**: TensorFlow.js has the op. What its attributes say must be what it reads.
- **by a rule**: the op becomes others, or only some uses of it are written.
- **not there**: the op is refused with the node and the line that called it.
"""
_OF_FUNCTIONS = ("If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase")


def page() -> str:
    """The whole document."""
    package = importlib.import_module("pinnace.ops")
    for found in pkgutil.walk_packages(package.__path__, "pinnace.ops."):
        importlib.import_module(found.name)
    facts = importlib.import_module("pinnace.deploy.tfjs.facts")
    rewriting = importlib.import_module("pinnace.deploy.tfjs.graph.rewriting")
    registered = importlib.import_module("pinnace.ops.registry").registered()
    known, rules = facts.known_ops(), rewriting.rules()
    as_it_is = sorted(name for name in known if name in registered and name not in rules)
    ruled = sorted({name for name in rules if name in registered} | set(_OF_FUNCTIONS[4:]))
    missing = sorted(set(registered) - {*as_it_is, *ruled})
    rows = [f"| {name} | {_said(rules.get(name))} |" for name in ruled]
    return "\n".join(
        [
            HEAD.format(version=facts.version()),
            f"{len(as_it_is) + len(ruled)} of {len(registered)} ops are written.\n",
            "## As it is\n",
            "| op | list |\n|---|---|",
            *(f"| {name} | {known[name].category} |" for name in as_it_is),
            "\n## By a rule\n",
            "| op | what |\n|---|---|",
            *rows,
            "\n## Not there\n",
            "| op |\n|---|",
            *(f"| {name} |" for name in missing),
            "",
        ]
    )


def _said(rule: Any) -> str:
    """The first line of what the rule says of itself."""
    if rule is None:
        return "Conditions inside conditions."
    return (inspect.getdoc(rule) or "").partition("\n")[0]
