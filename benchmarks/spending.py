"""Runs one command, and prints what it took: a small process, that only waits.

The system counts what a process's parent held when it began towards its peak: a parent with a
hundred megabytes would be measured with each child.

    python spending.py MOST_BYTES LOG COMMAND...
"""

import json
import os
import subprocess
import sys
import threading
import time


def watch(pid: int, most_bytes: int, ended: threading.Event, stopped: threading.Event) -> None:
    """Kill the process as soon as it holds more than it may."""
    page = os.sysconf("SC_PAGE_SIZE")
    while not ended.wait(0.05):
        try:
            with open(f"/proc/{pid}/statm") as file:  # noqa: PTH123 - nothing else is imported
                resident = int(file.read().split()[1]) * page
        except (OSError, IndexError):
            return
        if resident > most_bytes:
            stopped.set()
            os.kill(pid, 9)
            return


def main() -> None:
    """See above; the output is one line of JSON."""
    most_bytes, log, *command = sys.argv[1:]
    with open(log, "wb") as words:  # noqa: PTH123 - as above
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=words, stderr=words)
    ended, stopped = threading.Event(), threading.Event()
    watcher = threading.Thread(target=watch, args=(process.pid, int(most_bytes), ended, stopped))
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    ended.set()
    watcher.join()
    taken = {
        "code": os.waitstatus_to_exitcode(status),
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "system_s": usage.ru_stime,
        "wall_s": wall,
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "stopped": stopped.is_set(),
    }
    print(json.dumps(taken))


main()
