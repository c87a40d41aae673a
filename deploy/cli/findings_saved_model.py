"""The risks of a SavedModel, from its messages and files, without running it."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.deploy.cli import findings_ops
from pinnace.deploy.cli.findings import Findings
from pinnace.deploy.cli.findings_ops import FOREIGN_TABLE, PLAIN, SAVER, SAVER_OPS, STATE, TABLES
from pinnace.deploy.cli.terminal import size_text
from pinnace.graph.codec.opaque import TRANSLATED_XLA
from pinnace.ops import registry
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.saved_model import layout
from pinnace.saved_model.assets import named_assets
from pinnace.saved_model.codecs.signatures import tensor_names
from pinnace.saved_model.initialisers import initialisers
from pinnace.saved_model.reading import read_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef

_MAIN = "main graph"
_OUTSIDE = re.compile(r"(?:/(?!/)[\w.-]+/|[A-Za-z]:[\\/]|\\\\|~/|\.\./|[a-z][a-z0-9+.-]{1,15}://)")
_PROGRAMS = {
    ".so", ".dll", ".dylib", ".exe", ".bat", ".cmd", ".sh", ".ps1", ".py", ".pyc", ".jar", ".js",
}  # fmt: skip
_PICKLES = {".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth"}
_LARGE_CONSTANT = 16_000_000  # bytes
_LONG = 200
_FARTHEST = 64  # nodes in a chain that only pass a value on
# The folder in which version 0.1 kept machine code.
_KERNELS = ("assets.extra", "pinnace_kernels")


def findings_of(folder: Path) -> Findings:
    """The findings in a SavedModel.

    Raises:
        DataLossError: saved_model.pb is damaged.
    """
    found = Findings()
    for meta in read_messages(folder).meta_graphs:
        _Graph(meta, found).look()
        _look_at_assets(folder, meta, found)
    _look_at_files(folder, found)
    return found


class _Graph:
    """A graph, and the nodes in it that functions and signatures reach."""

    def __init__(self, meta: MetaGraphDef, found: Findings) -> None:
        self._meta = meta
        self._found = found
        self._functions: Mapping[str, Iterable[NodeDef]] = {
            one.signature.name: one.node_def for one in meta.graph_def.library.function
        }
        self._bodies = {_MAIN: meta.graph_def.node, **self._functions}
        self._arguments = {
            one.signature.name: {arg.name for arg in one.signature.input_arg}
            for one in meta.graph_def.library.function
        }

    def look(self) -> None:
        reached = self._reached()
        for place, nodes in self._places():
            for node in nodes:
                is_reached = place in reached or (place, node.name) in reached
                self._look_at(node, place, is_reached)

    def _places(self) -> Iterator[tuple[str, Iterable[NodeDef]]]:
        yield from self._bodies.items()

    def _reached(self) -> set[object]:
        """Names of functions, and pairs (`main graph`, node), that loading or a call may run."""
        nodes = {node.name: node for node in self._meta.graph_def.node}
        waiting: list[str] = [
            name
            for signature in self._meta.signature_def.values()
            for info in signature.outputs.values()
            for name in tensor_names(info)
        ]
        waiting.extend(initialisers(self._meta))
        functions = list(self._meta.object_graph_def.concrete_functions)
        reached: set[object] = set()
        while waiting:
            name = waiting.pop().lstrip("^").partition(":")[0]
            if name in nodes and (_MAIN, name) not in reached:
                reached.add((_MAIN, name))
                waiting.extend(nodes[name].input)
                functions.extend(_called(nodes[name]))
        while functions:
            name = functions.pop()
            if name in self._functions and name not in reached:
                reached.add(name)
                for node in self._functions[name]:
                    functions.extend(_called(node))
        return reached

    def _names_its_file(self, node: NodeDef, function: str) -> bool:
        """Whether the file name of a table comes from the graph itself instead of an asset."""
        nodes = {one.name: one for one in self._bodies[function]}
        assets = {asset.tensor_info.name.partition(":")[0] for asset in named_assets(self._meta)}
        given = [text for text in node.input if text[:1] != "^"]
        for _ in range(_FARTHEST):
            name = given[-1].partition(":")[0] if given else ""
            source = nodes.get(name)
            if source is None:
                # It is an argument, which the object graph binds to an asset.
                return name not in self._arguments.get(function, ())
            if function == _MAIN and name in assets:
                return False
            op = registry.at_hand(source.op)
            if op is not PLACEHOLDER and not (op is not None and op.alias):
                return True
            given = [text for text in source.input if text[:1] != "^"]
        return True

    def _look_at(self, node: NodeDef, function: str, is_reached: bool) -> None:
        place = f"{function}: {node.name}"
        known = findings_ops.known(node)
        if node.op in TABLES and self._names_its_file(node, function):
            known = FOREIGN_TABLE
        if known is not None and (is_reached or node.op not in SAVER_OPS):
            level, title, meaning = known
            if is_reached and title == STATE and place.startswith(f"{_MAIN}:"):
                return  # it only initialises variables
            if is_reached:
                self._found.add(level, title, meaning, f"{node.op} at {place}")
            elif level in ("high", "medium"):
                self._found.add(
                    "low",
                    f"{title}, in nodes that nothing calls",
                    f"{meaning} No signature and no function reaches it.",
                    f"{node.op} at {place}",
                )
        elif known is not None:
            self._found.add("info", "saves and restores its variables", SAVER)
        elif ">" in node.op:
            self._found.add(
                "high" if is_reached else "low",
                "custom ops",
                "These are no ops of TensorFlow: they run only after a native library was loaded, "
                "which can do anything.",
                f"{node.op} at {place}",
            )
        elif not self._is_known(node.op):
            self._found.add(
                "medium" if is_reached else "low",
                "ops unknown here",
                "Either TensorFlow has them and pinnace does not, or they come from a native "
                "library; what they do was not looked at.",
                f"{node.op} at {place}",
            )
        if node.op == "Const":
            self._look_at_constant(node, place, is_reached)

    def _is_known(self, op: str) -> bool:
        if op in self._functions or op in PLAIN or op in TRANSLATED_XLA:
            return True
        return registry.find(op) is not None

    def _look_at_constant(self, node: NodeDef, place: str, is_reached: bool) -> None:
        tensor = node.attr["value"].tensor
        if len(tensor.tensor_content) > _LARGE_CONSTANT:
            self._found.add(
                "info",
                "large constants",
                "Weights stand in the graph instead of in the variables; loading takes memory.",
                f"{place}, {size_text(len(tensor.tensor_content))}",
            )
        for raw in tensor.string_val if is_reached else ():
            text = raw[:_LONG].decode("utf-8", "backslashreplace")
            if _OUTSIDE.match(text):
                self._found.add(
                    "low",
                    "names of files or addresses",
                    "A text in the graph looks like a path or an address outside the model.",
                    f"{text!r} at {place}",
                )


def _called(node: NodeDef) -> Iterator[str]:
    yield node.op
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for one in value.list.func:
            yield one.name


def _look_at_assets(folder: Path, meta: MetaGraphDef, found: Findings) -> None:
    for asset in named_assets(meta):
        name = asset.filename
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
            found.add(
                "high",
                "an asset outside the model",
                "The model asks for a file that is not in its folder. pinnace refuses to load it.",
                repr(name[:_LONG]),
            )
            continue
        path = layout.asset_path(folder, name)
        if not path.is_file():
            found.add("medium", "missing assets", "The model is not complete.", repr(name[:_LONG]))
        else:
            found.add(
                "info",
                "brings files",
                "Files that the model reads, mostly lists of words.",
                f"{name} ({size_text(path.stat().st_size)})",
            )


def _look_at_files(folder: Path, found: Findings) -> None:
    root = Path(os.path.realpath(folder))
    total = 0
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                inside = Path(os.path.realpath(path)).is_relative_to(root)
                found.add(
                    "low" if inside else "high",
                    "links" if inside else "links out of its folder",
                    "A name in the folder stands for another file; copied elsewhere, the model "
                    "shows what is there under that name.",
                    shown,
                )
            elif stat.S_ISREG(status.st_mode):
                total += status.st_size
                _look_at_file(path, shown, status.st_mode, found)
            elif not stat.S_ISDIR(status.st_mode):
                found.add(
                    "medium", "no regular files", "Pipes or devices are no part of a model.", shown
                )
    found.add("info", "size", f"All its files together: {size_text(total)}.")


def _look_at_file(path: Path, shown: str, mode: int, found: Findings) -> None:
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        found.add(
            "high",
            "pickles",
            "No SavedModel needs them, and opening one in Python can run any program.",
            shown,
        )
    elif path.parts[-3:-1] == _KERNELS and suffix in _PROGRAMS:
        found.add(
            "medium",
            "kernels compiled ahead",
            "`pinnace compile` of version 0.1 put machine code there. Nothing runs it any more: "
            "delete the folder.",
            shown,
        )
    elif suffix in _PROGRAMS or (mode & 0o111 and _is_program(path)):
        found.add(
            "medium",
            "programs",
            "Loading the model does not run them, but no SavedModel needs them: ask what they "
            "are for.",
            shown,
        )


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(4)
    return begin[:2] in (b"#!", b"MZ") or begin == b"\x7fELF"
