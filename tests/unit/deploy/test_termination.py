"""SIGTERM ends a command at any point, and its partial work is undone."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from pinnace.deploy.termination import sigterm_raises


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0)  # a call in which Python checks for signals


class EndedInDel:
    def __del__(self) -> None:
        terminate()


class EndedTwice:
    """Its finalizer is slow, so that the second attempt is swallowed as well."""

    def __del__(self) -> None:
        for _ in range(2):
            terminate()
            time.sleep(0.1)


def exit_code_of(work: Callable[[], object]) -> object:
    """The exit code of work under `sigterm_raises`, which must end long before a minute."""
    with pytest.raises(SystemExit) as ended, sigterm_raises():
        work()
    return ended.value.code


def test_a_signal_is_an_exit_and_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    assert exit_code_of(terminate) == 143
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


@pytest.mark.parametrize("kind", [EndedInDel, EndedTwice])
def test_a_signal_in_a_finalizer_is_not_lost(kind: type) -> None:
    def work() -> None:
        one = kind()
        del one
        time.sleep(30)

    assert exit_code_of(work) == 143


def test_exceptions_of_others_go_where_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))

    class Broken:
        def __del__(self) -> None:
            raise LookupError

    with sigterm_raises():
        one: Broken | None = Broken()
        del one
        gc.collect()
    assert told == [LookupError]


def test_elsewhere_than_in_the_main_thread_nothing_changes() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def work() -> None:
        with sigterm_raises():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_process_that_is_ended_in_a_finalizer_exits_with_143() -> None:
    program = """
import os, signal, time
from pinnace.deploy.termination import sigterm_raises

class Ended:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)

with sigterm_raises():
    try:
        one = Ended()
        del one
        time.sleep(30)
    finally:
        print("taken back")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "taken back\n", "")
