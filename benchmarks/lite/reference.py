"""TFLiteConverter on SavedModels, in TensorFlow's environment: `python reference.py JOBS.json`.

A job has a folder, a signature, inputs (.npz), the file to write, and our file. What came of each
is a line of JSON: the size and the seconds of TFLiteConverter's file, or its refusal; and how far
our file, run by TensorFlow's interpreter, is from TensorFlow itself.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf


def _run(content, key, feeds):
    runner = tf.lite.Interpreter(model_content=content).get_signature_runner(key)
    return {name: np.asarray(value) for name, value in runner(**feeds).items()}


def _seconds(content, key, feeds):
    runner = tf.lite.Interpreter(model_content=content, num_threads=1).get_signature_runner(key)
    runner(**feeds)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        runner(**feeds)
        times.append(time.perf_counter() - began)
    return min(times)


def _gap(wanted, got):
    largest = 0.0
    for name, right in wanted.items():
        other = got[name]
        if right.shape != other.shape or right.dtype != other.dtype:
            return float("inf")
        if right.dtype.kind != "f":
            largest = max(largest, float(not np.array_equal(right, other)))
            continue
        a, b = right.astype(np.float64), other.astype(np.float64)
        if not a.size or np.array_equal(a, b, equal_nan=True):
            continue
        largest = max(largest, float(np.max(np.abs(a - b)) / max(np.max(np.abs(a)), 1e-30)))
    return largest


def _job(job):
    found = {"name": job["name"]}
    feeds = dict(np.load(job["inputs"]))
    model = tf.saved_model.load(job["folder"])
    given = {name: tf.constant(value) for name, value in feeds.items()}
    wanted = {k: np.asarray(v) for k, v in model.signatures[job["key"]](**given).items()}
    if job["ours"]:
        ours = Path(job["ours"]).read_bytes()
        try:
            found["our_gap"] = _gap(wanted, _run(ours, job["key"], feeds))
            found["our_run_s"] = _seconds(ours, job["key"], feeds)
        except Exception as error:
            found["our_error"] = str(error)[:300]
    began = time.perf_counter()
    try:
        converter = tf.lite.TFLiteConverter.from_saved_model(job["folder"], [job["key"]])
        theirs = converter.convert()
    except Exception as error:
        found["refusal"] = str(error).strip().splitlines()[0][:200]
        return found
    found["seconds"] = time.perf_counter() - began
    found["bytes"] = len(theirs)
    try:
        found["gap"] = _gap(wanted, _run(theirs, job["key"], feeds))
        found["run_s"] = _seconds(theirs, job["key"], feeds)
    except Exception as error:
        found["error"] = str(error)[:300]
    return found


def main():
    for job in json.loads(Path(sys.argv[1]).read_text()):
        try:
            found = _job(job)
        except Exception as error:
            found = {"name": job["name"], "broken": str(error)[:300]}
        found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print("RESULT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
