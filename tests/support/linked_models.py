"""SavedModels whose files are links: to the outside, which are refused, and within the model."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

DATA = "variables/variables.data-00000-of-00001"


class Words(tf.Module):
    """A model that returns lines of its vocabulary."""

    def __init__(self, words: Path) -> None:
        super().__init__()
        keys, values = tf.lookup.TextFileIndex.LINE_NUMBER, tf.lookup.TextFileIndex.WHOLE_LINE
        initializer = tf.lookup.TextFileInitializer(str(words), tf.int64, keys, tf.string, values)
        self.table = tf.lookup.StaticHashTable(initializer, "none")
        self.first = tf.Variable(0, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="x")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """Lines by their numbers."""
        return {"line": self.table.lookup(x + self.first)}


def save_words(folder: Path, first_line: str = "own") -> Path:
    """Save a model that returns the first line of its vocabulary for 0.

    Args:
        folder: folder of the model, which need not exist.
        first_line: first line of the vocabulary.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    words = folder.parent / "words.txt"
    words.write_text(f"{first_line}\nother\n")
    model = Words(words)
    tf.saved_model.save(model, str(folder), signatures=model.__call__)
    words.unlink()
    return folder


def _link(name: str) -> Callable[[Path, Path], None]:
    """Replace a file of the model by a link to a file or folder outside."""

    def change(model: Path, outside: Path) -> None:
        path, target = model / name, outside / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
        path.symlink_to(target)

    return change


def _secret(target: str) -> Callable[[Path, Path], None]:
    def change(model: Path, outside: Path) -> None:
        words = model / "assets" / "words.txt"
        words.unlink()
        words.symlink_to(target or outside / "secret.txt")

    return change


def _relative(model: Path, outside: Path) -> None:
    words = model / "assets" / "words.txt"
    words.unlink()
    words.symlink_to(os.path.relpath(outside / "secret.txt", words.parent))


def _over_another(model: Path, outside: Path) -> None:
    """A link to a link: the first one points into the model."""
    (model / "assets" / "hidden").symlink_to(outside / "secret.txt")
    words = model / "assets" / "words.txt"
    words.unlink()
    words.symlink_to("hidden")


def _through_a_folder(model: Path, outside: Path) -> None:
    (model / "there").symlink_to(outside)
    words = model / "assets" / "words.txt"
    words.unlink()
    words.symlink_to("../there/secret.txt")


def _pipe(model: Path, _: Path) -> None:
    words = model / "assets" / "words.txt"
    words.unlink()
    os.mkfifo(words)


def _whole_version(model: Path, outside: Path) -> None:
    shutil.move(model, outside / "model")
    model.symlink_to(outside / "model")


def _round(model: Path, _: Path) -> None:
    (model / "assets" / "round").symlink_to("..")


def _unlistable(change: Callable[[Path, Path], None], target: str) -> Callable[[Path, Path], None]:
    """The same, preceded in each folder by a link that the system cannot follow."""

    def change_and_add(model: Path, outside: Path) -> None:
        change(model, outside)
        (model / "assets" / "a").symlink_to(target)
        (model / "a").symlink_to(target)

    return change_and_add


# Longer than the limit for file names.
_TOO_LONG = "n" * 300

# The fault -> the part of the model that the error names, and the function that makes the fault.
REFUSED: Mapping[str, tuple[str, Callable[[Path, Path], None]]] = {
    "a vocabulary elsewhere": ("assets/words.txt", _secret("")),
    "/etc/passwd": ("assets/words.txt", _secret("/etc/passwd")),
    "the environment": ("assets/words.txt", _secret("/proc/self/environ")),
    "a device": ("assets/words.txt", _secret("/dev/zero")),
    "upwards": ("assets/words.txt", _relative),
    "a link over another": ("assets/", _over_another),
    "a link through a folder": ("", _through_a_folder),
    "a folder of assets": ("assets", _link("assets")),
    "a file of variables": (DATA, _link(DATA)),
    "a folder of variables": ("variables", _link("variables")),
    "the file of messages": ("saved_model.pb", _link("saved_model.pb")),
    "a pipe": ("assets/words.txt", _pipe),
    "a folder in itself": ("assets/round", _round),
    "the whole version": ("", _whole_version),
    "a vocabulary beside a link to itself": ("assets/words.txt", _unlistable(_secret(""), "a")),
    "variables beside a link to itself": (DATA, _unlistable(_link(DATA), "a")),
    "variables beside a name too long": (DATA, _unlistable(_link(DATA), _TOO_LONG)),
}


def _mounted(model: Path, _: Path) -> None:
    """Like a mounted Kubernetes volume: each name is a link through a link that is replaced."""
    held = model / "..2026_11_28"
    held.mkdir()
    for entry in list(model.iterdir()):
        if entry != held:
            shutil.move(entry, held / entry.name)
    (model / "..data").symlink_to(held.name)
    for entry in held.iterdir():
        (model / entry.name).symlink_to(f"..data/{entry.name}")


def _mounted_version(model: Path, _: Path) -> None:
    """A volume whose names are versions."""
    base = model.parent
    held = base / f"..held-{model.name}"
    held.mkdir()
    shutil.move(model, held / model.name)
    (base / f"..data-{model.name}").symlink_to(held.name)
    model.symlink_to(f"..data-{model.name}/{model.name}")


def _shared(model: Path, _: Path) -> None:
    """Weights beside the versions."""
    shared = model.parent / f"shared-{model.name}"
    shutil.move(model / "variables", shared)
    (model / "variables").symlink_to(f"../{shared.name}")


def _hard(model: Path, _: Path) -> None:
    """A hard link is the file itself, under another name."""
    os.link(model / DATA, model.parent / f"same-{model.name}")


def _dangling(model: Path, _: Path) -> None:
    (model / ".#saved_model.pb").symlink_to("nobody@nowhere")


def _nothing(target: str) -> Callable[[Path, Path], None]:
    def change(model: Path, _: Path) -> None:
        (model / "assets" / "a").symlink_to(target)

    return change


SERVED: Mapping[str, Callable[[Path, Path], None]] = {
    "a mounted volume": _mounted,
    "a mounted version": _mounted_version,
    "shared weights": _shared,
    "a hard link": _hard,
    "a link to nothing": _dangling,
    "a link to itself": _nothing("a"),
    "a link to a name too long": _nothing(_TOO_LONG),
    "a link through a file": _nothing("words.txt/a"),
}
