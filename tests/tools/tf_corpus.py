#!/usr/bin/env python3
"""The checks of `tf_check.py` for many models: `python tf_corpus.py WORK.json`.

WORK.json has a list of {"name", "model", "io", "paths", "atol", "rtol"}. TensorFlow is imported
once; each model and path runs in a separate forked process, so that an abort inside TensorFlow is
the result of only that one. Writes a line of JSON per result: {"name", "path", "ok", "detail"}.
"""

import argparse
import json
import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf  # noqa: F401 - here, so that no fork has to
import tf_check

SECONDS = 300


def ask(work: dict[str, Any], path: str) -> dict[str, Any]:
    """The result of a path for a model."""
    tolerance = {"atol": work["atol"], "rtol": work["rtol"]}
    args = argparse.Namespace(model=work["model"], tags=["serve"], select_tf_ops=False, **tolerance)
    try:
        return {"ok": True, "detail": tf_check.PATHS[path](args, tf_check.load_cases(work["io"]))}
    except tf_check.NotRun as error:
        return {"ok": True, "detail": str(error)}
    except Exception as error:  # any failure is the result
        text = " ".join(str(error).split())[:600]
        trace = traceback.format_exc()[-2000:]
        return {"ok": False, "detail": f"{type(error).__name__}: {text}", "trace": trace}


def answer(work: dict[str, Any], path: str) -> dict[str, Any]:
    """The same in a separate process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            pipe.write(json.dumps(ask(work, path)).encode())
        os._exit(0)  # skip destructors: teardown crashes say nothing about the model
    os.close(write)
    ready, _, _ = select.select([read], [], [], SECONDS)
    if not ready:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        found: dict[str, Any] = json.loads(text)
        return found
    problem = f"TensorFlow ended with status {status}" if ready else f"no answer in {SECONDS} s"
    return {"ok": False, "detail": problem}


def main() -> None:
    for work in json.loads(Path(sys.argv[1]).read_text()):
        for path in work["paths"]:
            found = {"name": work["name"], "path": path, **answer(work, path)}
            sys.stdout.write(f"ANSWER {json.dumps(found)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
