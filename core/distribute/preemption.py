"""Training that is told to end, and goes on from there when it is started again.

Who ends a process of a cluster sends SIGTERM some time before, or says so at an address that a
program can ask. A `PreemptionCheckpointHandler` then saves at the end of a step and ends the
process; started again, the program begins with what was saved.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.checkpoint import Checkpoint
from pinnace.checkpoint.manager import CheckpointManager
from pinnace.framework.logger import get_logger
from pinnace.framework.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

__all__ = ["PreemptionCheckpointHandler", "PreemptionWatcher", "TerminationConfig"]

# The exit code of a process that wants to be started again: 128 + SIGTERM.
RESTART = 143
# How often a function that tells of the end is asked, in seconds.
_ASK_EVERY_S = 1.0


class TerminationConfig:
    """How a process learns that it must end, and how it does.

    Args:
        termination_watcher_fn: asked every second whether the process must end; None waits for
            SIGTERM.
        exit_fn: called after saving; None ends the process with code 143.
        grace_period: seconds that are left when it is told so; training goes on until then. None
            and 0 save after the step that runs.
        save_fn: called instead of the checkpoint manager's `save`.
    """

    def __init__(
        self,
        termination_watcher_fn: Callable[[], Any] | None = None,
        exit_fn: Callable[[], Any] | None = None,
        grace_period: float | None = None,
        save_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.termination_watcher_fn = termination_watcher_fn
        self.exit_fn = exit_fn
        self.grace_period = grace_period or 0
        self.save_fn = save_fn


class _Notice:
    """Whether the process was told to end, and when.

    Args:
        watcher: asked again and again; None waits for SIGTERM.
    """

    def __init__(self, watcher: Callable[[], Any] | None = None) -> None:
        self._event = threading.Event()
        self.at = 0.0
        self.message = ""
        if watcher is not None:
            threading.Thread(target=self._ask, args=(watcher,), daemon=True).start()
        elif threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._signalled)
        else:
            get_logger().warning("SIGTERM can be watched from the main thread alone")

    def _ask(self, watcher: Callable[[], Any]) -> None:
        while not watcher():
            if self._event.wait(_ASK_EVERY_S):
                return
        self.tell("the termination watcher said so")

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.tell(f"signal {signal.Signals(number).name}")

    def tell(self, message: str) -> None:
        """The process must end."""
        if not self._event.is_set():
            self.message, self.at = message, time.monotonic()
            self._event.set()

    @property
    def came(self) -> bool:
        """Whether it was told."""
        return self._event.is_set()

    def wait(self) -> None:
        """Until it is told."""
        self._event.wait()


class PreemptionCheckpointHandler:
    """Saves and ends the process when it is told to end; restores when it is made.

    Args:
        cluster_resolver: accepted; each process watches for itself.
        checkpoint_or_checkpoint_manager: what is saved and restored.
        checkpoint_dir: where, for a Checkpoint; the newest one is kept.
        termination_config: see `TerminationConfig`.

    Raises:
        ValueError: a Checkpoint without `checkpoint_dir`.
    """

    def __init__(
        self,
        cluster_resolver: Any,
        checkpoint_or_checkpoint_manager: Checkpoint | CheckpointManager,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        termination_config: TerminationConfig | None = None,
    ) -> None:
        del cluster_resolver
        self._config = termination_config or TerminationConfig()
        given = checkpoint_or_checkpoint_manager
        if isinstance(given, CheckpointManager):
            self._manager = given
        elif checkpoint_dir:
            self._manager = CheckpointManager(given, os.fspath(checkpoint_dir), max_to_keep=1)
        else:
            raise ValueError(
                "PreemptionCheckpointHandler: checkpoint_dir must be given with a Checkpoint\n"
                "  Try: checkpoint_dir=..., or a CheckpointManager"
            )
        self._manager.restore_or_initialize()
        # How often `run` was called is kept beside, so that the program's checkpoint stays its own.
        self._counter = Variable(0, trainable=False, dtype="int64", name="total_run_calls")
        beside = os.path.join(os.fspath(self._manager.directory), "run_counter")  # noqa: PTH118 (stays a text)
        self._runs = CheckpointManager(Checkpoint(run_counter=self._counter), beside, max_to_keep=1)
        self._runs.restore_or_initialize()
        self._notice = _Notice(self._config.termination_watcher_fn)

    @property
    def total_run_calls(self) -> int:
        """How often `run` was called, over all processes that went on from each other."""
        return int(self._counter.numpy())

    def run(self, distributed_train_function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A step of training, and saving after it if the process must end.

        Args:
            distributed_train_function: the step.
            *args: its arguments.
            **kwargs: its arguments by name.

        Returns:
            What the step gives.
        """
        result = distributed_train_function(*args, **kwargs)
        self._counter.assign_add(1)
        self.save_checkpoint_if_preempted()
        return result

    def save_checkpoint_if_preempted(self, *args: Any, **kwargs: Any) -> None:
        """Save and end the process, if it must end and the time it was left has passed.

        Args:
            *args: for the manager's `save`, or for `save_fn`.
            **kwargs: the same by name.
        """
        notice = self._notice
        if not notice.came or time.monotonic() - notice.at < self._config.grace_period:
            return
        get_logger().warning("saving and ending: %s", notice.message)
        (self._config.save_fn or self._manager.save)(*args, **kwargs)
        self._runs.save()
        if self._config.exit_fn is not None:
            self._config.exit_fn()
        else:
            sys.exit(RESTART)

    @contextlib.contextmanager
    def watch_preemption_scope(self) -> Iterator[None]:
        """Save and end the process at the end of the block, if it must end."""
        yield
        self.save_checkpoint_if_preempted()


class PreemptionWatcher:
    """Learns of SIGTERM, and does nothing about it."""

    def __init__(self) -> None:
        self._notice = _Notice()

    @property
    def preemption_message(self) -> str | None:
        """Why the process must end; None if it need not."""
        return self._notice.message if self._notice.came else None

    def block_until_worker_exit(self) -> None:
        """Wait until the process must end, and end it with code 143."""
        self._notice.wait()
        sys.exit(RESTART)
