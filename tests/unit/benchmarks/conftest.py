"""The benchmarks are programs that import from their own folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))
TOLD = """
import json
from harness import discover, peers_of
print(json.dumps({name: [case.aims, peers_of(case)] for name, case in discover().items()}))
"""


@pytest.fixture(scope="session")
def cases() -> dict[str, list]:
    """Name -> aims and peers, told by a process of their own: `cases` is a folder here, too."""
    told = subprocess.run(
        [sys.executable, "-c", TOLD], cwd=BENCHMARKS, capture_output=True, text=True, check=True
    )
    return json.loads(told.stdout)
