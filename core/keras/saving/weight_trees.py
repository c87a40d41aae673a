"""The values of a .weights.h5 file as nested dicts: of objects by name, and in these of arrays.

The groups `vars`, with an object's own values, are omitted: the file's `layers/dense/vars/0` is
`tree["layers"]["dense"]["0"]`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import IO, Any

from pinnace.keras.saving import hdf5, hdf5_checksum, hdf5_files
from pinnace.keras.saving.own_variables import Store

_OWN = "vars"
_DEPTH = 100


def read(group: Any) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The tree of a file, and the objects' metadata by their paths.

    Args:
        group: an open HDF5 file.

    Raises:
        ValueError: a link, or an array that does not stand in the file itself.
        ResourceExhaustedError: an array grows too much.
    """
    about: dict[str, dict[str, Any]] = {}
    return _read(group, "", about, _DEPTH), about


def _read(group: Any, path: str, about: dict[str, Any], depth: int) -> dict[str, Any]:
    if not depth:
        raise ValueError(f"KerasFileEditor: {path!r} is deeper than {_DEPTH} groups")
    found: dict[str, Any] = {}
    if group.attrs:
        about[path] = dict(group.attrs)
    for name in group:
        item = hdf5_files.entry(group, name)
        if not hasattr(item, "keys"):
            found[name] = _array(group, name, f"{path}/{name}")
            continue
        inner = _read(item, f"{path}/{name}", about, depth - 1)
        if name == _OWN and path:
            found.update(inner)
            about[path] = about.pop(f"{path}/{name}", about.get(path, {}))
        elif inner:
            found[name] = inner
    return found


def _array(group: Any, name: str, path: str) -> Any:
    data = group[name]
    for bad, kind in ((data.external, "external"), (data.is_virtual, "virtual")):
        if bad:
            raise ValueError(f"KerasFileEditor: {path!r} is a dataset with {kind} values")
    return Store(group)[name]


def of_model(model: Any) -> dict[str, Any]:
    """The tree that the file of a model's weights would have."""
    memory = io.BytesIO()
    hdf5.write_weights(model, memory, getattr(model, "optimizer", None))
    with hdf5_files.reading(memory, "KerasFileEditor.compare") as opened:
        return read(opened)[0]


def write(tree: Mapping[str, Any], file: IO[bytes]) -> None:
    """Write a tree as a .weights.h5 file."""
    memory = io.BytesIO()
    with hdf5_checksum.create(memory) as opened:
        _write(tree, opened, "")
    file.write(memory.getbuffer())


def _write(tree: Mapping[str, Any], opened: Any, path: str) -> None:
    arrays = {key: value for key, value in tree.items() if not isinstance(value, Mapping)}
    if arrays:
        own = path if path.split("/")[-1] == _OWN else f"{path}/{_OWN}".lstrip("/")
        Store(opened.create_group(own)).update(arrays)
    for key, value in tree.items():
        if isinstance(value, Mapping):
            _write(value, opened, f"{path}/{key}".lstrip("/"))


def differences(
    tree: Mapping[str, Any], wanted: Mapping[str, Any], tell: Callable[[str], None]
) -> tuple[int, int]:
    """The numbers of differing objects and values, and of values whose shapes agree.

    Args:
        tree: of a file.
        wanted: of a model.
        tell: called with a line for each difference.
    """
    return _differences(tree, wanted, "", tell)


def _differences(
    tree: Mapping[str, Any], wanted: Mapping[str, Any], path: str, tell: Callable[[str], None]
) -> tuple[int, int]:
    wrong = right = 0
    for name in dict.fromkeys([*wanted, *tree]):
        here = f"{path}/{name}"
        if name not in tree or name not in wanted:
            where, other = ("saved file", "reference model")
            if name in wanted:
                where, other = other, where
            value = wanted.get(name, tree.get(name))
            kind = "Object" if isinstance(value, Mapping) else "Weight"
            tell(f"...{kind} {here} present in {where}, missing from {other}")
            wrong += 1
            continue
        mine, theirs = tree[name], wanted[name]
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            inner = _differences(mine, theirs, here, tell)
            wrong, right = wrong + inner[0], right + inner[1]
        elif getattr(mine, "shape", None) != getattr(theirs, "shape", ()):
            tell(
                f"...Weight shape mismatch for {here}: "
                f"in saved file {getattr(mine, 'shape', 'an object')}, "
                f"in reference model {getattr(theirs, 'shape', 'an object')}"
            )
            wrong += 1
        else:
            right += 1
    return wrong, right


def lines(tree: Mapping[str, Any], about: Mapping[str, Any], indent: str = "  ") -> list[str]:
    """The tree as text: objects with their names, values with shape and dtype."""
    return _lines(tree, about, indent, "")


def _lines(tree: Mapping[str, Any], about: Mapping[str, Any], indent: str, path: str) -> list[str]:
    found = []
    for at, (name, value) in enumerate(tree.items()):
        last = at == len(tree) - 1
        branch = f"{indent}{'└─' if last else '├─'} {name}"
        if isinstance(value, Mapping):
            here = f"{path}/{name}"
            called = about.get(here, {}).get("name")
            found.append(f"{branch} ({called!r})" if called else branch)
            found += _lines(value, about, indent + ("    " if last else "│   "), here)
        else:
            dtype = getattr(value, "dtype", "?")
            found.append(f"{branch}: shape={getattr(value, 'shape', '?')}, dtype={dtype}")
    return found
