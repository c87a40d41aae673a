"""One conversion by pinnace, in a process of its own: its seconds and its peak of memory.

python ours.py '{"folder": ..., "key": ..., "target": ..., "checked": ...}'
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from pinnace.deploy import lite
from pinnace.framework.errors import OpError


def peak_mb() -> float:
    """Of this process; what the one that started it held does not count, as in `getrusage`."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Convert, and tell it."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    found: dict[str, Any] = {}
    began = time.perf_counter()
    try:
        report = lite.export(
            job["folder"], job["target"], signature=job["key"], verify=job["checked"]
        )
        found["bytes"] = report.file_bytes
    except OpError as error:
        found["refusal"] = str(error)
    found["seconds"] = time.perf_counter() - began
    found["peak_mb"] = peak_mb()
    sys.stdout.write(f"RESULT {json.dumps(found)}\n")


if __name__ == "__main__":
    main()
