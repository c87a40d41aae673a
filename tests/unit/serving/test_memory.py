"""A serving process collects garbage rarely, and keeps memory for reuse."""

import gc
import json
import os
import subprocess
import sys

import pytest

from pinnace.serving.memory import kept_for_requests

PROGRAM = """
import ctypes, json, resource, sys
import numpy as np
from pinnace.serving.memory import keep_pages

kept = keep_pages()
blocks = [np.ones(2**18, np.uint8) for _ in range(8)]
del blocks
begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    blocks = [np.ones(2**18, np.uint8) for _ in range(8)]
    del blocks
print(json.dumps([kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin]))
"""


def test_the_collector_is_as_before_when_serving_ends() -> None:
    before = gc.get_threshold()
    with kept_for_requests():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def run(**environment: str) -> tuple[bool, int]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")} | environment
    found = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    kept, faults = json.loads(found.stdout)
    return kept, faults


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_arrays_of_batches_are_made_in_pages_that_are_there() -> None:
    kept, faults = run()
    if kept:  # not with another C library
        assert faults < 2**18 * 8 // 4096  # the pages of one of 50 rounds


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_the_environment_has_the_first_word() -> None:
    kept, _ = run(MALLOC_ARENA_MAX="2")
    assert not kept
