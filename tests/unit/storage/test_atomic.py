import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn

import pytest

import pinnace.storage.atomic as atomic
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from pinnace.storage.atomic import repair_folder, replace_folder, write_file


class Killed(BaseException):
    """Represents anything that ends a program at an unlucky moment."""


def _fill(folder: Path, content: str, files: int = 3) -> None:
    for number in range(files):
        (folder / f"{number}.txt").write_text(content)
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.txt").write_text(content)


def _content(folder: Path) -> set[str]:
    """The contents of a complete folder's files."""
    files = [folder / f"{number}.txt" for number in range(3)]
    return {path.read_text() for path in [*files, folder / "sub" / "deep.txt"]}


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    _fill(folder, "old")
    return folder


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(a: Path, b: Path) -> NoReturn:
        raise OSError(errno.EINVAL, f"{a} {b}")

    monkeypatch.setattr(atomic, "exchange", refuse)


def _fail(code: int) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


# Files


@pytest.mark.parametrize("content", [b"new", bytearray(b"new"), memoryview(b"new")])
def test_a_file_has_the_bytes_given(tmp_path: Path, content: bytes) -> None:
    write_file(tmp_path / "a", content)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert _names(tmp_path) == ["a"]


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FailedPreconditionError, match="a device, a pipe or a socket"):
        write_file(pipe, b"content")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_file_has_what_the_function_writes(tmp_path: Path) -> None:
    write_file(str(tmp_path / "a"), lambda file: file.write(b"new"))
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def write(file: IO[bytes]) -> None:
        file.write(b"half of the new")
        raise Killed

    with pytest.raises(Killed):
        write_file(path, write)
    assert path.read_bytes() == b"old"
    assert _names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ENOSPC, ResourceExhaustedError),
        (errno.EDQUOT, ResourceExhaustedError),
        (errno.EROFS, PermissionDeniedError),
        (errno.EIO, OpError),
    ],
)
def test_a_system_error_says_what_failed_and_what_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[OpError]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", _fail(code))
    with pytest.raises(kind, match=r"cannot write .*a: .*\n.*unchanged"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert _names(tmp_path) == ["a"]


def test_a_file_needs_its_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot write"):
        write_file(tmp_path / "missing" / "a", b"")


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"")
    (tmp_path / "b").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_file(path, b"new")
    assert path.read_bytes() == b"new"


# Folders


def test_a_new_folder_is_what_was_filled(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "model") as folder:
        _fill(folder, "new")
        assert not (tmp_path / "model").exists()
    assert _content(tmp_path / "model") == {"new"}
    assert _names(tmp_path) == ["model"]


def test_a_folder_is_replaced_and_nothing_is_left(old: Path) -> None:
    (old / "extra").touch()
    with replace_folder(old) as folder:
        _fill(folder, "new")
        assert _content(old) == {"old"}
    assert _content(old) == {"new"}
    assert _names(old) == ["0.txt", "1.txt", "2.txt", "sub"]
    assert _names(old.parent) == ["model"]


@pytest.mark.parametrize("error", [Killed(), ValueError("x"), KeyboardInterrupt()])
def test_an_exception_leaves_the_old_folder_and_nothing_else(
    old: Path, error: BaseException
) -> None:
    def save() -> None:
        with replace_folder(old) as folder:
            (folder / "0.txt").write_text("half")
            raise error

    with pytest.raises(type(error)):
        save()
    assert _content(old) == {"old"}
    assert _names(old.parent) == ["model"]


@pytest.mark.parametrize("journal", [False, True])
@pytest.mark.parametrize("call", ["exchange", "sync_folder", "_sync_tree"])
def test_a_failing_call_leaves_the_old_folder_and_nothing_else(
    old: Path, monkeypatch: pytest.MonkeyPatch, call: str, journal: bool
) -> None:
    monkeypatch.setattr(atomic, call, _fail(errno.EIO))
    with (
        pytest.raises(OpError, match="cannot save to"),
        replace_folder(old, journal=journal) as folder,
    ):
        _fill(folder, "new")
    assert _content(old) == {"old"}
    assert _names(old.parent) == ["model"]


def test_a_full_disk_is_named_and_the_old_folder_said_to_be_unchanged(old: Path) -> None:
    with (
        pytest.raises(ResourceExhaustedError, match=r"No space left.*\n.*1\.txt\n.*unchanged"),
        replace_folder(old) as folder,
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / "1.txt"))
    assert _content(old) == {"old"}


def test_an_error_of_the_library_is_kept_and_annotated(old: Path) -> None:
    with pytest.raises(PermissionDeniedError) as caught, replace_folder(old):
        raise PermissionDeniedError("mine")
    assert str(caught.value) == "mine"
    assert caught.value.__notes__ == [f"{old} is unchanged"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_parent_that_is_not_writable_is_named(old: Path) -> None:
    old.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionDeniedError, match="cannot save to"), replace_folder(old):
            pass
    finally:
        old.parent.chmod(0o755)
    assert _content(old) == {"old"}


def test_a_target_must_be_a_folder_with_a_parent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FailedPreconditionError, match="not a folder"):
        replace_folder(tmp_path / "file").__enter__()
    with pytest.raises(NotFoundError, match="not a folder"):
        replace_folder(tmp_path / "missing" / "model").__enter__()


def test_a_link_to_a_folder_stays_a_link(old: Path) -> None:
    link = old.parent / "latest"
    link.symlink_to(old, target_is_directory=True)
    with replace_folder(link) as folder:
        _fill(folder, "new")
    assert link.is_symlink()
    assert _content(old) == {"new"}


def test_a_folder_that_appears_meanwhile_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with replace_folder(target) as folder:
        _fill(folder, "new")
        target.mkdir()
        _fill(target, "somebody else's")
    assert _content(target) == {"new"}
    assert _names(tmp_path) == ["model"]


def test_a_folder_that_disappears_meanwhile_is_made(old: Path) -> None:
    with replace_folder(old) as folder:
        _fill(folder, "new")
        shutil.rmtree(old)
    assert _content(old) == {"new"}


def test_a_reader_always_finds_a_complete_folder(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The old folder stays, so that any file that a reader misses is due to the exchange: a reader
    # that opens a folder before the exchange and a file in it after the removal always finds
    # nothing.
    monkeypatch.setattr(atomic, "_discard", lambda _: None)
    done = threading.Event()
    seen: list[str] = []
    problems: list[object] = []

    def look() -> None:
        handle = os.open(old, os.O_RDONLY)
        try:
            names = ("0.txt", "1.txt", "2.txt", "sub/deep.txt")
            files = [os.open(name, os.O_RDONLY, dir_fd=handle) for name in names]
        finally:
            os.close(handle)
        contents = set()
        for file in files:
            with os.fdopen(file) as open_file:
                contents.add(open_file.read())
        seen.extend(contents)
        if len(contents) != 1:
            problems.append(contents)

    def read() -> None:
        while not done.is_set():
            try:
                look()
            except OSError as error:
                problems.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(50):
            with replace_folder(old) as folder:
                _fill(folder, str(number))
    finally:
        done.set()
        reader.join()
    assert not problems
    assert len(set(seen)) > 1


# Where the system cannot exchange folders


@pytest.mark.usefixtures("no_exchange")
def test_without_exchange_an_overwrite_is_refused_before_the_work(old: Path) -> None:
    with (
        pytest.raises(FailedPreconditionError, match="Try: save under a new version number"),
        replace_folder(old),
    ):
        pytest.fail("the block must not run")
    assert _content(old) == {"old"}
    assert _names(old.parent) == ["model"]


@pytest.mark.usefixtures("no_exchange")
def test_without_exchange_a_new_folder_is_no_problem(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "model") as folder:
        _fill(folder, "new")
    assert _content(tmp_path / "model") == {"new"}


@pytest.mark.usefixtures("no_exchange")
def test_with_a_journal_a_folder_is_overwritten_in_two_steps(old: Path) -> None:
    with replace_folder(old, journal=True) as folder:
        _fill(folder, "new")
    assert _content(old) == {"new"}
    assert _names(old.parent) == ["model"]
    assert not repair_folder(old)


@pytest.mark.usefixtures("no_exchange")
@pytest.mark.parametrize("step", range(8))
def test_an_overwrite_that_was_cut_short_is_finished_by_repair(
    old: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """End the program before each call that changes the disk, without clean-up, as if killed."""
    calls = 0
    dead = False

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal calls, dead
            if dead:
                return None
            if calls == step:
                dead = True
                raise Killed
            calls += 1
            return real(*args, **options)

        return call

    with monkeypatch.context() as patch, replace_folder_after_death(old) as folder:
        _fill(folder, "new")
        for owner, name in (
            (Path, "rename"),
            (Path, "replace"),
            (Path, "unlink"),
            (shutil, "rmtree"),
            (atomic, "sync_folder"),
        ):
            patch.setattr(owner, name, dying(getattr(owner, name)))
    repaired = repair_folder(old)
    assert _content(old) in ({"old"}, {"new"})
    if repaired:
        assert _content(old) == {"new"}
    assert not repair_folder(old)
    assert _content(old) in ({"old"}, {"new"})


class replace_folder_after_death:  # noqa: N801 - reads like the function
    """`replace_folder` with a journal, after which the program may be killed."""

    def __init__(self, target: Path) -> None:
        self._inner = replace_folder(target, journal=True)

    def __enter__(self) -> Path:
        return self._inner.__enter__()

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        try:
            self._inner.__exit__(None, None, None)
        except Killed:
            return True
        return False


def test_repair_does_nothing_without_a_journal(old: Path) -> None:
    assert not repair_folder(old)
    assert not repair_folder(old / "missing" / "deep")
    assert not repair_folder(old.parent / ("n" * 255))
    assert _content(old) == {"old"}


@pytest.mark.parametrize("content", [b"", b"../../etc", b"0" * 17, b"\xff" * 16, b"0" * 15 + b"\n"])
def test_a_journal_that_is_none_is_refused(old: Path, content: bytes) -> None:
    (old.parent / ".model.pinnace-journal").write_bytes(content)
    with pytest.raises(DataLossError, match="not a journal"):
        repair_folder(old)
    assert _content(old) == {"old"}
