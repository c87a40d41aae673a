"""KerasFileEditor: inspects and edits a weights file."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from pinnace.keras.saving import hdf5_files, weight_trees
from pinnace.keras.saving.archive import CONFIG, METADATA, WEIGHTS, Archive
from pinnace.storage.atomic import write_file


class KerasFileEditor:
    """The values of a .keras or .weights.h5 file, to be looked at, changed and written.

    Args:
        filepath: of the file.

    Attributes:
        weights_dict: nested dicts: objects by name, and in these arrays.
        metadata: what a .keras file says of itself; None of another.
        config: of the model in a .keras file; None of another.
        object_metadata: what the file says of objects, by path.

    Example:
        editor = KerasFileEditor("old.weights.h5")
        editor.rename_object("layers/dense_2", "output")
        editor.save("new.weights.h5")

    Raises:
        ValueError: another ending; links in the file.
        OpError: there is no such file, or it was damaged.
    """

    def __init__(self, filepath: str | os.PathLike[str]) -> None:
        self.filepath = path = os.fspath(filepath)
        self.metadata: Any = None
        self.config: Any = None
        self.model: Any = None
        who = f"KerasFileEditor: {path!r}"
        if path.endswith(".keras"):
            with Archive(path, "KerasFileEditor") as archive:
                self.config = archive.json(CONFIG)
                self.metadata = archive.json(METADATA) if METADATA in archive else None
                with archive.open(WEIGHTS) as weights:
                    self._read(weights, who)
        elif path.endswith(".weights.h5"):
            self._read(path, who)
        else:
            raise ValueError(
                "KerasFileEditor: Invalid filename: expected a `.keras` or `.weights.h5` "
                f"extension. Received: filepath={path}"
            )
        _tell(f"Keras model file {path!r}")
        if isinstance(self.metadata, dict):
            version, date = (self.metadata.get(key) for key in ("keras_version", "date_saved"))
            _tell(f"Saved with Keras {version} - date: {date}")

    def _read(self, file: Any, who: str) -> None:
        with hdf5_files.reading(file, who) as opened, hdf5_files.explained(who):
            self.weights_dict, self.object_metadata = weight_trees.read(opened)

    def summary(self) -> None:
        """Print the objects and the shapes of their values."""
        _tell("Weights structure")
        for line in weight_trees.lines(self.weights_dict, self.object_metadata):
            _tell(line)

    def compare(self, reference_model: Any) -> dict[str, Any]:
        """Print what differs from the file that a model would be saved as.

        Args:
            reference_model: built.

        Returns:
            `status`, "success" or "error"; `error_count`, `match_count`.
        """
        _tell("Running comparison")
        wanted = weight_trees.of_model(reference_model)
        wrong, right = weight_trees.differences(self.weights_dict, wanted, _tell)
        if wrong:
            errors = "1 error" if wrong == 1 else f"{wrong} errors"
            _tell(f"Found {errors}: saved file is not compatible with the reference model")
        else:
            _tell("Comparison successful: saved file is compatible with the reference model")
            _tell(f"    Found {right} matching weight{'' if right == 1 else 's'}")
        status = "error" if wrong else "success"
        return {"status": status, "error_count": wrong, "match_count": right}

    def rename_object(self, object_name: str, new_name: str) -> None:
        """Rename an object.

        Args:
            object_name: its name, if only one has it, or its path.
            new_name: a name, no path.
        """
        if "/" in new_name:
            raise ValueError(
                "rename_object: Argument `target_name` should be a leaf name, not a full path "
                f"name. Received: target_name={new_name!r}"
            )

        def rename(inside: dict[str, Any], name: str) -> None:
            inside[new_name] = inside.pop(name)

        self._edit(object_name, rename)

    def delete_object(self, object_name: str) -> None:
        """Leave an object out.

        Args:
            object_name: its name, if only one has it, or its path.
        """
        self._edit(object_name, lambda inside, name: inside.pop(name))

    def add_object(self, object_path: str, weights: Mapping[str, Any]) -> None:
        """Put an object in.

        Args:
            object_path: its path, in an object that is there.
            weights: arrays by name, such as {"0": kernel, "1": bias}.
        """
        _check_weights("add_object", weights)
        *above, name = object_path.split("/")
        inside = self.weights_dict
        for part in above:
            if part not in inside:
                raise ValueError(f"add_object: Path {'/'.join(above)!r} not found in model.")
            inside = inside[part]
        inside[name] = dict(weights)

    def delete_weight(self, object_name: str, weight_name: str) -> None:
        """Leave a value of an object out.

        Args:
            object_name: the object's name, if only one has it, or its path.
            weight_name: such as "0".
        """

        def delete(inside: dict[str, Any], name: str) -> None:
            if weight_name not in inside[name]:
                raise ValueError(
                    f"delete_weight: Weight {weight_name} not found in object {object_name}. "
                    f"Weights found: {list(inside[name])}"
                )
            del inside[name][weight_name]

        self._edit(object_name, delete)

    def add_weights(self, object_name: str, weights: Mapping[str, Any]) -> None:
        """Add or replace an object's values under these names.

        Args:
            object_name: the object's name, if only one has it, or its path.
            weights: arrays by name.
        """
        _check_weights("add_weights", weights)
        self._edit(object_name, lambda inside, name: inside[name].update(weights))

    def save(self, filepath: str | os.PathLike[str]) -> None:
        """Write the values to a .weights.h5 file.

        Args:
            filepath: of the file.

        Raises:
            ValueError: another ending.
        """
        path = os.fspath(filepath)
        if not path.endswith(".weights.h5"):
            raise ValueError(
                "KerasFileEditor.save: Invalid `filepath` argument: expected a `.weights.h5` "
                f"extension. Received: filepath={path}"
            )
        write_file(path, functools.partial(weight_trees.write, self.weights_dict))

    def resave_weights(self, filepath: str | os.PathLike[str]) -> None:
        """`save`."""
        self.save(filepath)

    def _edit(self, name: str, change: Callable[[dict[str, Any], str], object]) -> None:
        *above, last = name.split("/")
        if above:
            inside = self.weights_dict
            for part in above:
                inside = inside.get(part, {})
            if last not in inside:
                raise ValueError(f"KerasFileEditor: Path {name!r} not found in model.")
        else:
            found = list(_holding(self.weights_dict, name))
            if len(found) > 1:
                raise ValueError(
                    f"KerasFileEditor: Name {name!r} occurs more than once in the model; try "
                    "passing a complete path"
                )
            if not found:
                raise ValueError(
                    f"KerasFileEditor: Source name {name!r} does not appear in the model\n"
                    "  Try: editor.summary(), which lists all objects"
                )
            inside = found[0]
        change(inside, last)


def _holding(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The dicts in a tree that have that key."""
    found = [tree] if name in tree else []
    for value in tree.values():
        if isinstance(value, dict):
            found += _holding(value, name)
    return found


def _check_weights(who: str, weights: Any) -> None:
    if not isinstance(weights, Mapping):
        raise ValueError(  # noqa: TRY004 (Keras' class)
            f"{who}: Argument `weights` should be a dict where keys are weight names (usually '0', "
            f"'1', etc.) and values are NumPy arrays. Received: type(weights)={type(weights)}"
        )


def _tell(line: str) -> None:
    print(line)  # noqa: T201 (Keras prints it too)
