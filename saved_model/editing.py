"""Removes or renames the signatures of a SavedModel, and drops everything unreachable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.module import Module
from pinnace.framework.resources import TrackableResource
from pinnace.framework.trackable import Trackable, is_variable, walk
from pinnace.functions.concrete import ConcreteFunction
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model import layout
from pinnace.saved_model.assets import Asset
from pinnace.saved_model.inspection import inspect
from pinnace.saved_model.reading import load
from pinnace.saved_model.restored import RestoredObject
from pinnace.saved_model.snapshot import View, saved_traces
from pinnace.saved_model.writing import save, write_message
from pinnace.storage.atomic import replace_folder
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

_RESERVED = frozenset({layout.INIT_SIGNATURE, layout.TRAIN_SIGNATURE})


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of an edit.

    Attributes:
        signatures: old name -> new name.
        dropped_signatures: names of the signatures that were dropped.
        variables: the numbers of variables after and before the edit.
        bytes: the sizes of the files after and before the edit.
    """

    signatures: Mapping[str, str]
    dropped_signatures: tuple[str, ...]
    variables: tuple[int, int]
    bytes: tuple[int, int]


def edit(
    export_dir: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    keep: Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    tags: Iterable[str] | None = None,
    select: Iterable[str] | None = None,
) -> Edited:
    """Write a model that has only some of the signatures of another.

    Variables, tables, assets and functions that no signature needs are dropped, and so are
    functions called by name (`model.serve`): only signatures are kept. The folder is written
    atomically.

    Args:
        export_dir: the model; it is only read.
        output_dir: the folder of the new model; `export_dir` itself is replaced atomically.
        keep: names of signatures; None keeps all.
        rename: old name -> new name.
        tags: the tags of the new model; None keeps those of the old one.
        select: the tags of the graph, if the model has several.

    Raises:
        InvalidArgumentError: a name is unknown, reserved or given twice; the model has ops that
            this library does not have.
        NotFoundError: there is no such model.
    """
    wanted = None if select is None else list(select)
    report = inspect(export_dir, wanted)
    known = [signature.name for signature in report.signatures]
    names = _names(known, keep, rename or {}, export_dir)
    tag_set = tuple(dict.fromkeys(report.tags if tags is None else tags))
    if not all(tag_set):
        raise InvalidArgumentError("edit: a tag must not be empty")
    root = load(export_dir, wanted)
    signatures = {new: root.signatures[old] for old, new in names.items()}
    kept = _skeleton(root, _reached(root, signatures.values()))
    with explained("write", output_dir):
        Path(output_dir).parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(output_dir) as stage:
        save(kept, stage, signatures)
        _set_tags(stage, tag_set)
    after = inspect(output_dir)
    return Edited(
        names,
        tuple(name for name in known if name not in names),
        (len(after.variables), len(report.variables)),
        (sum(after.file_bytes.values()), sum(report.file_bytes.values())),
    )


def _names(
    known: Sequence[str],
    keep: Sequence[str] | None,
    rename: Mapping[str, str],
    where: str | os.PathLike[str],
) -> dict[str, str]:
    """Old name -> new name of every kept signature."""
    chosen = list(known if keep is None else dict.fromkeys(keep))
    for name in (*chosen, *rename):
        if name not in known:
            raise InvalidArgumentError(
                f"{where}: there is no signature {name!r}; the model has: "
                f"{', '.join(known) or 'none'}"
            )
    for name in rename:
        if name not in chosen:
            raise InvalidArgumentError(f"edit: signature {name!r} is renamed, but not kept")
    if not chosen:
        raise InvalidArgumentError("edit: no signature would be left; keep at least one")
    names = {name: rename.get(name, name) for name in chosen}
    for new in names.values():
        if not new or new in _RESERVED:
            raise InvalidArgumentError(f"edit: a signature cannot be named {new!r}")
        if list(names.values()).count(new) > 1:
            raise InvalidArgumentError(f"edit: two signatures would be named {new!r}")
    return names


def _reached(root: Trackable, functions: Iterable[ConcreteFunction]) -> set[int]:
    """The ids of the variables, tables and assets that functions capture, also indirectly."""
    owners: dict[int, Trackable] = {}
    for one, _ in walk(root):
        if is_variable(one):
            owners[id(one.resource)] = one  # type: ignore[attr-defined]  # a variable has one
        elif isinstance(one, TrackableResource):
            owners[id(_resource(one.resource_handle))] = one
        elif isinstance(one, Asset):
            owners[id(one.asset_path)] = one
    reached: set[int] = set()
    waiting = list(functions)
    while waiting:
        for tensor in waiting.pop().captured:
            key = id(_resource(tensor) if tensor.dtype is dtypes.resource else tensor)
            owner = owners.get(key)
            if owner is not None and id(owner) not in reached:
                reached.add(id(owner))
                waiting.extend(_functions_of(owner))
    return reached


def _functions_of(owner: Trackable) -> Iterable[ConcreteFunction]:
    """The functions that create and initialise a table."""
    if isinstance(owner, TrackableResource):
        for one in View().functions(owner).values():
            yield from [one] if isinstance(one, ConcreteFunction) else saved_traces(one)


def _resource(handle: Any) -> object:
    return np.asarray(handle._array)[()]


def _skeleton(root: Trackable, reached: set[int]) -> Module:
    """Return the reachable objects under their names in the model."""
    kept = Module()
    made: dict[tuple[str, ...], Trackable] = {(): kept}
    for one, path in walk(root):
        if id(one) not in reached or any(
            id(made.get(path[:n])) in reached for n in range(len(path))
        ):
            continue  # unreachable, or a component of a table, which includes it
        for depth in range(1, len(path)):
            place = path[:depth]
            if place not in made:
                made[place] = RestoredObject()
                made[place[:-1]]._track(place[-1], made[place])
        parent = made[path[:-1]]
        parent._track(path[-1], one)
        made[path] = one
    return kept


def _set_tags(folder: Path, tags: tuple[str, ...]) -> None:
    """Set the tags of a model's only graph."""
    message = SavedModel.FromString(layout.model_path(folder).read_bytes())
    info = message.meta_graphs[0].meta_info_def
    if tuple(info.tags) != tags:
        del info.tags[:]
        info.tags.extend(tags)
        write_message(message, folder)
