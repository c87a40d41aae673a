"""Removes from this process the POSIX functions that Windows lacks, as far as possible.

`os.name` stays unchanged: paths and sockets are still this system's. Behaviour that depends on it,
or on Windows' file system, has separate tests. NumPy needs `os.uname` on Linux. Import this before
pinnace.
"""

import asyncio.unix_events
import ctypes  # noqa: F401 - loaded while there is what it needs, as are those below
import multiprocessing  # noqa: F401
import os
import selectors  # noqa: F401
import shutil  # noqa: F401
import signal
import socket
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import uuid  # noqa: F401
from typing import Any

_MODULES = "fcntl grp pty pwd readline resource syslog termios tty uvloop"
_OS = """
    chown confstr copy_file_range ctermid eventfd fchdir fchown fork forkpty fstatvfs getegid
    geteuid getgid getgroups getloadavg getpgid getpriority getuid getxattr killpg lchown listxattr
    memfd_create mkfifo mknod nice openpty pathconf pidfd_open posix_fadvise posix_fallocate
    posix_spawn pread preadv pwrite pwritev readv register_at_fork sched_getaffinity
    sched_setaffinity sendfile setegid seteuid setgid setpriority setsid setuid setxattr splice
    statvfs sysconf sysconf_names wait wait3 wait4 writev
    O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK PRIO_PROCESS WEXITED WNOHANG
"""
_SIGNAL = """
    alarm pthread_kill pthread_sigmask setitimer sigwait SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL
    SIGPIPE SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 SIG_BLOCK SIG_SETMASK SIG_UNBLOCK
"""


def _refuse(*_: Any) -> None:
    raise NotImplementedError


for _name in _MODULES.split():
    sys.modules[_name] = None  # type: ignore[assignment] # its import fails
for _owner, _names in ((os, _OS), (signal, _SIGNAL), (socket, "SO_REUSEPORT")):
    for _name in _names.split():
        if hasattr(_owner, _name):
            delattr(_owner, _name)
setattr(asyncio.unix_events._UnixSelectorEventLoop, "add_signal_handler", _refuse)  # noqa: B010 - its type forbids it
