"""Joining a job of processes: MPI is loaded, initialised in bounded time, and finalised."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import os
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.distribute.one_process import OneProcess
from pinnace.distribute.processes import Processes
from pinnace.framework import jobs
from pinnace.framework.errors import DeadlineExceededError
from pinnace.framework.extras import install_command
from pinnace.framework.logger import get_logger

if TYPE_CHECKING:
    from types import TracebackType

# The default time limit for the start of a job's processes (seconds).
START_S = 300.0
# The variables in which launchers pass the number of processes: Open MPI, MPICH and Intel MPI,
# MVAPICH.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
# How long a process waits to be ended if the chief reports the same error (seconds).
_AFTER_CHIEF_S = 5.0
# How long a launcher gets to forward the last output of a process (seconds).
_HEARD_S = 1.0
_LIBRARY = str(Path(__file__).parents[1])


class _Started:
    """The processes of this job once they have met; MPI can be initialised once per process."""

    processes: Processes | None = None


_started = _Started()
_lock = threading.Lock()


def processes_of_job(who: str, timeout_s: float | None, described: int = 0) -> Processes:
    """The processes of this job: those that `mpirun` started, or this one alone.

    The first call begins MPI, and waits until every process of the job has made it. One process
    needs no MPI.

    Args:
        who: name of the caller in messages.
        timeout_s: how long to wait for the others now, in seconds (300 if None), and in each later
            exchange (without end if None).
        described: how many TF_CONFIG or a resolver says there are; 0 if neither says.

    Raises:
        ImportError: the job has several processes, and mpi4py or an MPI library is missing.
        DeadlineExceededError: not all have come in time.
    """
    with _lock:
        if _started.processes is None:
            _started.processes = _start(who, timeout_s, described)
        elif timeout_s:
            _started.processes.timeout_s = timeout_s
        return _started.processes


def _start(who: str, timeout_s: float | None, described: int) -> Processes:
    try:
        mpi = _loaded(who)
    except ImportError as error:
        if described > 1 or any(os.environ.get(name, "1") != "1" for name in _SIZES):
            raise
        get_logger().info("%s: one worker, without MPI (%s)", who, str(error).partition("\n")[0])
        return OneProcess(timeout_s)
    limit_s = timeout_s or START_S
    if not mpi.Is_initialized():
        _begin(mpi, who, limit_s)
    mpi.COMM_WORLD.Set_errhandler(mpi.ERRORS_RETURN)
    communicator, request = mpi.COMM_WORLD.Idup()
    began = time.monotonic()
    while not request.Test():
        if time.monotonic() - began > limit_s:
            raise DeadlineExceededError(_late(who, limit_s))
        time.sleep(1e-3)
    found = Processes(mpi, communicator, timeout_s or None)
    if found.size > 1:
        jobs.enter(found)
        _end_together(found)
    else:
        atexit.register(_finalize, mpi)
    return found


def _loaded(who: str) -> Any:
    """The module mpi4py.MPI, imported without initialising MPI."""
    advice = (
        f"\n  Try: {install_command('mpi')}\n  and: mpirun -n 2 python program.py, where each "
        "process is a replica"
    )
    try:
        package: Any = importlib.import_module("mpi4py")
        package.rc.initialize = False
        return importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise ImportError(
            f"{who} joins its processes by MPI, and mpi4py cannot be imported: {error}{advice}"
        ) from None
    except RuntimeError as error:  # mpi4py: no MPI library is found
        raise ImportError(f"{who}: mpi4py finds no MPI library: {error}{advice}") from None


def _begin(mpi: Any, who: str, limit_s: float) -> None:
    """Initialise MPI, which waits for the other processes, within a time limit."""

    def give_up() -> None:
        # The main thread is blocked inside MPI, where no exception reaches it.
        sys.stderr.write(f"{DeadlineExceededError.__name__}: {_late(who, limit_s)}\n")
        sys.stderr.flush()
        os._exit(1)

    watch = threading.Timer(limit_s, give_up)
    watch.daemon = True
    watch.start()
    begin: Any = None
    # Called through ctypes: mpi4py would hold the GIL during MPI_Init, and the timer could not run.
    with contextlib.suppress(OSError, AttributeError):
        begin = ctypes.CDLL(mpi.__file__).MPI_Init_thread
    try:
        if begin is None:
            mpi.Init_thread(mpi.THREAD_MULTIPLE)
        elif begin(None, None, mpi.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int())):
            raise RuntimeError(f"{who}: MPI cannot begin\n  Try: mpirun -n 1 python program.py")
    finally:
        watch.cancel()


def _late(who: str, limit_s: float) -> str:
    wanted = next((os.environ[name] for name in _SIZES if name in os.environ), "several")
    return (
        f"{who}: after {limit_s:g} s not all {wanted} processes of the job have started; process "
        f"{os.getpid()} on {socket.gethostname()} waits\n"
        "  Try: the same program in each process; a larger timeout_seconds of "
        "CommunicationOptions, if they start slowly"
    )


def _in_short(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> str:
    """The text of an error of the job, with the frames of the user's code only."""
    whole = traceback.TracebackException(kind, error, trace)
    frames = [frame for frame in whole.stack if not frame.filename.startswith(_LIBRARY)]
    whole.stack = traceback.StackSummary.from_list(frames)
    whole.__context__ = whole.__cause__ = None
    return "".join(whole.format())


# The end of a job.


def _end_together(processes: Processes) -> None:
    """Have an exception that ends this process end the whole job."""
    told = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if processes.failed_together and processes.rank:
            time.sleep(_AFTER_CHIEF_S)  # the chief reports the error and ends this process
        where = f"process {processes.rank} of {processes.size} on {socket.gethostname()}"
        sys.stderr.write(f"{where} ends the job:\n")
        if processes.has_failed:
            sys.stderr.write(_in_short(kind, error, trace))
        else:
            told(kind, error, trace)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        time.sleep(_HEARD_S)
        processes.abort()

    sys.excepthook = hook
    atexit.register(_leave, processes)


def _leave(processes: Processes) -> None:
    mpi = processes._mpi
    if not mpi.Is_finalized():
        processes.leave()
        _finalize(mpi)


def _finalize(mpi: Any) -> None:
    if not mpi.Is_finalized():
        mpi.Finalize()
