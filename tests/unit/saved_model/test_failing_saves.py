"""A failed save leaves the previous model, and raises an error."""

import contextlib
import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import saved_model
from pinnace.framework.errors import OpError, PermissionDeniedError, ResourceExhaustedError
from pinnace.storage.bundle_writer import BundleWriter


class Model(tf.Module):
    def __init__(self, folder: Path, number: float) -> None:
        super().__init__()
        self.v = tf.Variable(np.full(60_000, number, np.float32))
        words = folder / "words.txt"
        words.write_text("one\n")
        start = tf.lookup.TextFileInitializer(
            str(words),
            *(tf.string, tf.lookup.TextFileIndex.WHOLE_LINE),
            *(tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER),
        )
        self.table = tf.lookup.StaticHashTable(start, -1)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def f(self, word: tf.Tensor) -> tf.Tensor:
        return self.v[0] + tf.cast(self.table.lookup(word), tf.float32)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    model = Model(tmp_path, 1.0)
    saved_model.save(model, tmp_path / "model", signatures=model.f)
    return tmp_path / "model"


def save_new(old: Path) -> None:
    model = Model(old.parent, 2.0)
    saved_model.save(model, old, signatures=model.f)


def is_as_it_was(old: Path) -> None:
    assert float(saved_model.load(old).f(tf.constant("one"))) == 1.0
    assert sorted(one.name for one in old.parent.iterdir()) == ["model", "words.txt"]


@contextlib.contextmanager
def full_after(
    monkeypatch: pytest.MonkeyPatch, target: Any, name: str, calls: int
) -> Iterator[None]:
    """Raise the error of a full disk in the `calls`-th call of `target.name`."""
    original: Callable[..., Any] = getattr(target, name)
    left = calls

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(target, name, call)
        yield
    assert left <= 0, f"{name} was not called {calls} times"


PLACES = [
    *((BundleWriter, "_put", calls) for calls in (1, 2, 3)),
    *((os, "fsync", calls) for calls in (1, 2, 3, 4, 5, 6)),
    (shutil, "copyfile", 1),
    (Path, "write_bytes", 1),
]


@pytest.mark.parametrize(("target", "name", "calls"), PLACES)
def test_a_full_disk(
    old: Path, monkeypatch: pytest.MonkeyPatch, target: Any, name: str, calls: int
) -> None:
    with (
        full_after(monkeypatch, target, name, calls),
        pytest.raises(ResourceExhaustedError, match="No space left") as caught,
    ):
        save_new(old)
    assert f"{old} is unchanged" in caught.value.__notes__
    is_as_it_was(old)
    save_new(old)
    assert float(saved_model.load(old).f(tf.constant("one"))) == 2.0


def test_a_file_that_may_not_grow(old: Path) -> None:
    """The system refuses files larger than half the variable."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, limits[1]))
    try:
        with pytest.raises(OpError, match="File too large") as caught:
            save_new(old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"{old} is unchanged" in caught.value.__notes__
    is_as_it_was(old)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_parent_that_may_not_be_written(old: Path) -> None:
    old.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionDeniedError) as caught:
            saved_model.save(tf.Module(), old)
        assert f"{old} is unchanged" in caught.value.__notes__
    finally:
        old.parent.chmod(0o700)
    is_as_it_was(old)


def test_a_system_that_refuses_a_folder(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refuse)
        with pytest.raises(PermissionDeniedError, match="Permission denied"):
            saved_model.save(tf.Module(), old)
    is_as_it_was(old)


def test_a_captured_list_or_dataset_says_what_to_do(tmp_path: Path) -> None:
    """`tensorflow_recommenders` captures the dataset of its candidates in this way."""
    module = tf.Module()
    held = tf.raw_ops.TensorListFromTensor(
        tensor=tf.constant([[1.0], [2.0]]), element_shape=tf.constant([1])
    )

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def item(i: Any) -> Any:
        return tf.raw_ops.TensorListGetItem(
            input_handle=held, index=i, element_shape=tf.constant([1]), element_dtype=tf.float32
        )

    module.item = item
    with pytest.raises(tf.errors.UnimplementedError, match=r"save: .*variant.*\n  Try: make it"):
        tf.saved_model.save(module, tmp_path / "m")
    assert not (tmp_path / "m").exists()
