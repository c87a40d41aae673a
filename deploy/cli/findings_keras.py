"""The risks of a Keras file, from its configuration, without running or unpickling anything."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pinnace.deploy.cli.findings import Findings
from pinnace.deploy.cli.terminal import size_text
from pinnace.framework.errors import DataLossError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BYTES = 64_000_000  # the limit of a configuration
_MOST_PARTS = 2_000_000
_RATIO = 200
_OWN = ("keras", "tf_keras", "tensorflow.keras", "tensorflow.python.keras")
_BUILTINS = "builtins"
_USUAL = {"config.json", "metadata.json", "model.weights.h5"}
_CODE = (
    "The file carries compiled Python code, which Keras runs with safe_mode=False (older versions "
    "always): it can do anything. What it does was not looked at."
)


def findings_of(path: Path) -> Findings:
    """The findings in a .keras or .h5 file.

    Raises:
        DataLossError: the file is damaged.
    """
    found = Findings()
    read = _read_archive if zipfile.is_zipfile(path) else _read_hdf5
    config = read(path, found)
    if config is None:
        found.add("info", "weights alone", "There is no model in the file, so nothing is run.")
    else:
        for one in _objects(config):
            _look_at(one, found)
    found.add("info", "size", f"The file: {size_text(path.stat().st_size)}.")
    return found


def _read_archive(path: Path, found: Findings) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                _look_at_member(info, found)
            if "config.json" not in archive.namelist():
                return None
            if archive.getinfo("config.json").file_size > _MOST_BYTES:
                raise DataLossError(f"{path}: config.json claims more than {_MOST_BYTES:,} bytes")
            with archive.open("config.json") as file:
                data = file.read(_MOST_BYTES + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise DataLossError(f"{path} is damaged: {error}") from None
    return _json(data, path)


def _look_at_member(info: zipfile.ZipInfo, found: Findings) -> None:
    name = PurePosixPath(info.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts:
        found.add(
            "high",
            "unpacks outside its folder",
            "A part of the archive has a name that leads elsewhere; a careless program that "
            "unpacks it overwrites files.",
            repr(info.filename[:200]),
        )
    if info.file_size > _RATIO * max(info.compress_size, 1) and info.file_size > _MOST_BYTES:
        found.add(
            "high",
            "grows when it is unpacked",
            "A part is much larger than the file: unpacking it can fill memory or disk.",
            f"{info.filename[:200]}, {size_text(info.file_size)}",
        )
    if info.filename not in _USUAL and not info.is_dir():
        found.add(
            "info", "brings files", "Parts beside configuration and weights.", info.filename[:200]
        )


def _read_hdf5(path: Path, found: Findings) -> Any:
    try:
        import h5py
    except ImportError:
        raise InvalidArgumentError(
            f"{path} needs the package h5py\n  Try: pip install h5py"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            _look_at_links(file, found)
            config = file.attrs.get("model_config")
    except OSError as error:
        raise DataLossError(f"{path} is not a Keras file, or is damaged: {error}") from None
    if config is None:
        return None
    return _json(config.encode() if isinstance(config, str) else bytes(config), path)


def _look_at_links(file: Any, found: Findings) -> None:
    import h5py

    waiting = [file]
    seen: set[Any] = set()
    while waiting:
        group = waiting.pop()
        for name in group:
            link = group.get(name, getlink=True)
            place = f"{group.name.rstrip('/')}/{name}"
            if isinstance(link, h5py.ExternalLink):
                found.add(
                    "high",
                    "links to other files",
                    "Reading the weights opens another file of this machine.",
                    f"{place} -> {link.filename}",
                )
                continue
            if isinstance(link, h5py.SoftLink):
                continue
            child = group[name]
            if isinstance(child, h5py.Group):
                if child.id not in seen:
                    seen.add(child.id)
                    waiting.append(child)
            elif getattr(child, "external", None):
                found.add(
                    "high",
                    "links to other files",
                    "Reading the weights opens another file of this machine.",
                    f"{place} -> {child.external[0][0]}",
                )


def _json(data: bytes, path: Path) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataLossError(f"{path}: the configuration is not valid JSON: {error}") from None


def _objects(config: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a configuration that names a class."""
    waiting = [config]
    count = 0
    while waiting and count < _MOST_PARTS:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict):
            if "class_name" in one:
                yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _look_at(one: dict[str, Any], found: Findings) -> None:
    kind = str(one["class_name"])
    inner = one.get("config")
    config = inner if isinstance(inner, dict) else {}
    place = f"{kind} {str(config.get('name', ''))[:100]!r}" if config.get("name") else kind
    if kind == "__lambda__":
        found.add("high", "carries Python code", _CODE, place)
    elif kind.rpartition(">")[2] == "Lambda":
        _look_at_lambda(config, place, found)
    elif kind == "TFSMLayer":
        found.add(
            "medium",
            "loads another model",
            "It loads a SavedModel from a path of its own: scan that one too.",
            f"{config.get('filepath', '?')!s:.200}",
        )
    _look_at_module(one, kind, inner, found)


def _look_at_lambda(config: dict[str, Any], place: str, found: Findings) -> None:
    function = config.get("function")
    if isinstance(function, dict) and function.get("class_name") == "__lambda__":
        return  # reported for the part that holds the code
    is_code = config.get("function_type") == "lambda" or (
        isinstance(function, (list, str)) and config.get("function_type") != "function"
    )
    if is_code:
        found.add("high", "carries Python code", _CODE, place)
    else:
        found.add(
            "medium",
            "calls a Python function by name",
            "A Lambda layer calls a function that the program which loads it must have, or a "
            "module that it imports.",
            place,
        )


def _look_at_module(one: dict[str, Any], kind: str, inner: Any, found: Findings) -> None:
    module = one.get("module")
    custom = ">" in kind or ">" in str(one.get("registered_name") or "")
    if isinstance(module, str) and module.split(".")[0] not in ("keras", "tf_keras", _BUILTINS):
        if not module.startswith(_OWN):
            found.add(
                "medium" if one.get("registered_name") else "high",
                "custom objects",
                "Loading it imports Python modules that are not Keras and calls classes or "
                "functions there. Know what these modules are.",
                f"{module[:100]}.{kind[:100]}",
            )
    elif module == _BUILTINS and kind in ("function", "type"):
        name = inner if isinstance(inner, str) else str(one.get("registered_name"))
        found.add(
            "medium",
            "calls a Python function by name",
            "The program which loads it must have that function.",
            name[:100],
        )
    elif custom:
        found.add(
            "medium",
            "custom objects",
            "It needs classes that the program which loads it must register.",
            str(one.get("registered_name") or kind)[:100],
        )
