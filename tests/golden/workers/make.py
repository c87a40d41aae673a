"""Write TensorFlow's results of distributing and summing, for `tests/engines/test_mpi.py`.

    PYTHON_WITH_TENSORFLOW tests/golden/workers/make.py

Starts 2, then 3 processes of `tests/engines/mpi/shared.py` with addresses on the loopback device.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from support.golden import record

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "engines" / "mpi" / "shared.py"


def ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


def run(size: int, folder: Path) -> list[dict]:
    for number in range(4):
        rows = "".join(f"{number}{row}\n" for row in range(3 + number))
        (folder / f"{number}.txt").write_text(rows)
    workers = [f"127.0.0.1:{port}" for port in ports(size)]
    started = []
    for rank in range(size):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}}
        changes = {"TF_CONFIG": json.dumps(config), "CUDA_VISIBLE_DEVICES": "-1"}
        command = [sys.executable, str(PROGRAM), "tensorflow", str(folder)]
        started.append(subprocess.Popen(command, env={**os.environ, **changes}))
    for one in started:
        if one.wait(900):
            raise SystemExit(f"a process ended with {one.returncode}")
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


if __name__ == "__main__":
    facts = {}
    for size in (2, 3):
        with tempfile.TemporaryDirectory() as folder:
            facts[str(size)] = run(size, Path(folder))
    (HERE / "facts.json").write_text(json.dumps(facts) + "\n")
    made_with = f"tensorflow {tf.__version__}"
    record("workers/facts.json", script="workers/make.py", made_with=made_with)
