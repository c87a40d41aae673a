"""Small files in the formats of Keras's datasets, in a folder like Keras's.

Run as a program, they are loaded by `keras.datasets` of the running Python, which writes the
results: `python dataset_files.py FOLDER ANSWERS`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

# Arguments beside the defaults, for each dataset.
CALLS: dict[str, list[dict[str, Any]]] = {
    "mnist": [{}],
    "fashion_mnist": [{}],
    "cifar10": [{}],
    "cifar100": [{}, {"label_mode": "coarse"}],
    "boston_housing": [{}, {"test_split": 0.5, "seed": 7}, {"test_split": 0}],
    "california_housing": [{}, {"version": "small", "test_split": 0.3, "seed": 1}],
    "imdb": [
        {},
        {"num_words": 12, "skip_top": 4},
        {"maxlen": 6, "seed": 5},
        {"start_char": None, "oov_char": None, "num_words": 9},
        {"start_char": None, "index_from": None},
        {"start_char": 7, "oov_char": 0, "index_from": 10, "maxlen": 9, "num_words": 25},
    ],
    "reuters": [
        {},
        {"num_words": 12, "skip_top": 4, "test_split": 0.4},
        {"maxlen": 6, "seed": 5},
        {"start_char": None, "oov_char": None, "num_words": 9},
        {"start_char": None, "index_from": 0},
        {"start_char": 7, "oov_char": 0, "index_from": 10, "maxlen": 9, "test_split": 0.25},
    ],
}


def write_all(home: Path) -> None:
    """Write the files of each dataset."""
    folder = home / "datasets"
    (folder / "fashion-mnist").mkdir(parents=True)
    rng = np.random.default_rng(3)
    _write_images(folder, rng)
    for part, images in (("train", 5), ("t10k", 3)):
        pixels = rng.integers(0, 256, (images, 28, 28), np.uint8)
        labels = rng.integers(0, 10, images, np.uint8)
        for name, axes, content in (("images-idx3", 3, pixels), ("labels-idx1", 1, labels)):
            path = folder / "fashion-mnist" / f"{part}-{name}-ubyte.gz"
            path.write_bytes(gzip.compress(idx(axes, content)))
    np.savez(folder / "boston_housing.npz", x=rng.random((11, 13)), y=rng.random(11))
    california = rng.random((604, 8)).astype(np.float32), rng.random(604).astype(np.float32)
    np.savez(folder / "california_housing.npz", x=california[0], y=california[1])
    texts: dict[str, Any] = {"x_train": _texts(rng, 9), "x_test": _texts(rng, 7)}
    texts |= {"y_train": rng.integers(0, 2, 9), "y_test": rng.integers(0, 2, 7)}
    np.savez(folder / "imdb.npz", **texts)
    np.savez(folder / "reuters.npz", x=_texts(rng, 12), y=rng.integers(0, 46, 12))
    for name in ("imdb", "reuters"):
        words = {"the": 1, "café": 2, name: 30979}
        (folder / f"{name}_word_index.json").write_text(json.dumps(words))


def _write_images(folder: Path, rng: np.random.Generator) -> None:
    found: dict[str, Any] = {
        name: rng.integers(0, 256, (count, 28, 28), np.uint8)
        for name, count in (("x_train", 4), ("x_test", 2))
    }
    for name, count in (("y_train", 4), ("y_test", 2)):
        found[name] = rng.integers(0, 10, count, np.uint8)
    np.savez_compressed(folder / "mnist.npz", **found)
    ten = {f"data_batch_{i}": _batch(rng, 1, ("labels",)) for i in range(1, 6)}
    _archive(folder, "cifar-10-batches-py", {**ten, "test_batch": _batch(rng, 3, ("labels",))})
    kinds = ("fine_labels", "coarse_labels")
    hundred = {"train": _batch(rng, 4, kinds), "test": _batch(rng, 2, kinds)}
    _archive(folder, "cifar-100-python", hundred)


def _texts(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    found = np.empty(count, object)
    for i in range(count):
        # Numbers of one, two and four bytes, which pickles distinguish.
        words = rng.integers(1, 20, rng.integers(1, 9)).tolist()
        found[i] = [*words, 300, 70_000][: len(words) + (i % 3)]
    return found


def idx(axes: int, content: np.ndarray[Any, Any]) -> bytes:
    """An IDX file, before compression."""
    return bytes([0, 0, 8, axes]) + struct.pack(f">{axes}I", *content.shape) + content.tobytes()


def _batch(rng: np.random.Generator, count: int, kinds: tuple[str, ...]) -> bytes:
    data = rng.integers(0, 256, (count, 3072), np.uint8)
    labels = {kind: rng.integers(0, 10, count).tolist() for kind in kinds}
    return pickled_by_python_2({**labels, "data": data, "batch_label": "made"})


def pickled_by_python_2(entries: dict[str, Any]) -> bytes:
    """A dict as pickled by the program that wrote CIFAR's files: protocol 2, texts are bytes."""
    return b"\x80\x02}q\x01(" + b"".join(_text(k) + _value(v) for k, v in entries.items()) + b"u."


def _text(text: str) -> bytes:
    return b"U" + bytes([len(text)]) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return b"](" + b"".join(b"K" + bytes([number]) for number in value) + b"e"
    rows, columns = value.shape
    content = value.tobytes()
    return b"".join(
        (
            b"cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87R",
            b"q\x07(K\x01" + b"M" + struct.pack("<H", rows) + b"M" + struct.pack("<H", columns),
            b"\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff",
            b"J\xff\xff\xff\xffK\x00tb\x89T" + struct.pack("<i", len(content)) + content + b"tb",
        )
    )


def _archive(folder: Path, inner: str, files: dict[str, bytes]) -> None:
    with tarfile.open(folder / f"{inner}-target_archive", "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{inner}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def answers(datasets: Any) -> dict[str, Any]:
    """The results of every call, as text: dtypes, shapes and elements."""
    found = {}
    for name, calls in CALLS.items():
        module = getattr(datasets, name)
        for arguments in calls:
            (x, y), (x_test, y_test) = module.load_data(**arguments)
            if name == "cifar10" and len(x) == 50_000:
                x, y = x[::10_000], y[::10_000]  # Keras: a batch of one is broadcast over its slot
            found[f"{name} {arguments}"] = [told(each) for each in (x, y, x_test, y_test)]
    for name in ("imdb", "reuters"):
        found[f"{name} words"] = getattr(datasets, name).get_word_index()
    found["topics"] = list(datasets.reuters.get_label_names())
    return found


def told(array: Any) -> list[Any]:
    """An array for JSON; nested arrays and NumPy scalars become lists and numbers."""
    # The memory order, as far as it is observable: axes of size one have none.
    long = [axis for axis, size in enumerate(array.shape) if size > 1]
    strides = sorted(long, key=lambda axis: array.strides[axis])
    return [str(array.dtype), list(array.shape), strides, json.loads(json.dumps(array.tolist()))]


def _main() -> None:
    folder, out = sys.argv[1:]
    os.environ["KERAS_HOME"] = folder
    from keras import datasets  # type: ignore[import-not-found, unused-ignore]
    from keras.src.utils import file_utils  # type: ignore[import-not-found, unused-ignore]

    # Generated files do not have the digests of Keras's.
    file_utils.validate_file = lambda *_, **__: True
    Path(out).write_text(json.dumps(answers(datasets)))


if __name__ == "__main__":
    _main()
