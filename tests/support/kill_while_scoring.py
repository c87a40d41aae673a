"""Kill a process repeatedly while it scores files, and let the next one continue.

Run as `python kill_while_scoring.py FOLDER KILLS SEED ARGUMENTS…`: the arguments are those of
`pinnace score`, whose results go to FOLDER. A child is forked for each kill, which happens at a
random moment after one or two new files exist; the last child is not killed. Prints the number of
kills, and the exit code of the last child.
"""

import importlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from pinnace.deploy.cli.main import main as run

# Before the forks: lazy imports of the command would take each child a second.
importlib.import_module("pinnace.deploy.score.scorer")


def child(arguments: list[str]) -> int:
    """Fork, and run the command in the child; returns its process."""
    process = os.fork()
    if not process:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = run(arguments)
        finally:
            os._exit(code)
    return process


def entries(folder: Path) -> int:
    """The number of files in a folder, including hidden ones."""
    return len(list(folder.rglob("*"))) if folder.exists() else 0


def main(folder: Path, kills: int, seed: int, arguments: list[str]) -> None:
    """The whole test."""
    draw = random.Random(seed)
    killed = 0
    status = 0
    for turn in range(kills + 1):
        wanted = entries(folder) + draw.choice((1, 1, 2))
        process = child(arguments)
        if turn < kills:
            deadline = time.monotonic() + 30
            while entries(folder) < wanted and time.monotonic() < deadline:
                if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    break
            time.sleep(draw.expovariate(1 / 0.01))
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        killed += os.WIFSIGNALED(status)
        if not os.WIFSIGNALED(status):
            break
    sys.stdout.write(f"{killed} {os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
