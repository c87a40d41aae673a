"""TFLiteConverter on SavedModels, in TensorFlow's environment: `python reference.py JOBS.json`.

A job of the kind "model" has a folder, a signature, inputs (.npz files) and our file: it tells the
seconds, the peak of memory and the size of TFLiteConverter's file, or its refusal; how far both
files, run by TensorFlow's interpreter, are from TensorFlow itself; and how long both take there.
A job of the kind "int8" has examples to find ranges with, and rows whose labels are known: it tells
how many of them our files and TFLiteConverter's get right.

TensorFlow is imported once; each job has a forked process of its own, so that memory is that of the
job, and an abort inside TensorFlow is the answer of that one. What came of each is a line of JSON.
"""

import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

ROUNDS = 9
ROUND_S = 0.02


def _peak_mb():
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def _opened(content):
    return tf.lite.Interpreter(model_content=content, num_threads=1)


def _run(content, key, feeds):
    runner = _opened(content).get_signature_runner(key)
    return {name: np.asarray(value) for name, value in runner(**feeds).items()}


def _paces(contents, key, feeds):
    """Seconds of one run of each file: medians of rounds in turns, after one that warms up."""
    makers = []
    for content in contents:
        interpreter = _opened(content)
        interpreter.get_signature_runner(key)(**feeds)  # sets its inputs
        began = time.perf_counter()
        interpreter.invoke()
        took = time.perf_counter() - began
        makers.append((interpreter, max(1, int(ROUND_S / max(took, 1e-7))), []))
    for _ in range(ROUNDS):
        for interpreter, count, times in makers:
            began = time.perf_counter()
            for _ in range(count):
                interpreter.invoke()
            times.append((time.perf_counter() - began) / count)
    return [statistics.median(times) for _, _, times in makers]


def _gap(wanted, got):
    largest = 0.0
    for name, right in wanted.items():
        other = got[name]
        if right.dtype.kind in "SO":  # strings, which the interpreter gives as objects
            same = right.astype(object).tolist() == other.astype(object).tolist()
            largest = max(largest, float(not same))
            continue
        if right.shape != other.shape or right.dtype != other.dtype:
            return float("inf")
        if right.dtype.kind != "f":
            largest = max(largest, float(not np.array_equal(right, other)))
            continue
        a, b = right.astype(np.float64), other.astype(np.float64)
        if not a.size or np.array_equal(a, b, equal_nan=True):
            continue
        size = max(np.max(np.abs(a)), 1e-30)
        gap = float(np.max(np.abs(a - b)) / size)
        largest = max(largest, float("inf") if np.isnan(gap) else gap)
    return largest


def _gaps(wanted, content, key, feeds):
    # A new interpreter for each: one that was resized may be wrong, whoever wrote the file.
    return max(
        _gap(right, _run(content, key, given)) for right, given in zip(wanted, feeds, strict=True)
    )


def _refusal(error):
    """The ops that it says it cannot translate; else what it says first."""
    text = str(error).strip() or type(error).__name__
    ops = sorted(set(re.findall(r"'(tf\.\w+)' op is neither", text)))
    return f"no operator for {', '.join(ops)}" if ops else text.splitlines()[0]


def _model(job):
    found = {}
    began = time.perf_counter()
    try:
        converter = tf.lite.TFLiteConverter.from_saved_model(job["folder"], [job["key"]])
        theirs = converter.convert()
        found |= {"seconds": time.perf_counter() - began, "bytes": len(theirs)}
    except Exception as error:
        theirs = None
        found["refusal"] = _refusal(error)
    found["peak_mb"] = _peak_mb()
    if not job["inputs"]:
        return found
    signature = tf.saved_model.load(job["folder"]).signatures[job["key"]]
    feeds = [dict(np.load(one)) for one in job["inputs"]]
    wanted = []
    for given in feeds:
        results = signature(**{name: tf.constant(value) for name, value in given.items()})
        wanted.append({name: np.asarray(value) for name, value in results.items()})
    real = [x for one in wanted for x in one.values() if x.dtype.kind == "f" and x.size]
    if real and not any(np.isfinite(x).any() for x in real):
        return found | {"broken": "TensorFlow gives no finite number: nothing is compared"}
    contents = []
    if job["target"]:
        ours = Path(job["target"]).read_bytes()
        try:
            found["our_gap"] = _gaps(wanted, ours, job["key"], feeds)
            contents.append(ours)
        except Exception as error:
            found["our_error"] = str(error)[:300]
    if theirs is not None:
        try:
            found["gap"] = _gaps(wanted, theirs, job["key"], feeds)
            contents.append(theirs)
        except Exception as error:
            found["error"] = str(error)[:300]
    if len(contents) == 2:
        found["our_run_s"], found["run_s"] = _paces(contents, job["key"], feeds[0])
    return found


def _answers(content, name, rows):
    """The place of the largest entry for each row."""
    interpreter = _opened(content)
    runner = interpreter.get_signature_runner()
    return np.concatenate([np.argmax(*runner(**{name: row[None]}).values(), -1) for row in rows])


def _int8(job):
    rows = np.load(job["rows"])
    (name,) = job["input"]

    def examples():
        for row in rows["examples"]:
            yield [row[None]]

    contents = {}
    for label, kernels in (
        ("TFLiteConverter's int8", "TFLITE_BUILTINS_INT8"),
        (
            "TFLiteConverter's int16 and int8",
            "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8",
        ),
    ):
        converter = tf.lite.TFLiteConverter.from_saved_model(job["folder"], [job["key"]])
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = examples
        converter.target_spec.supported_ops = [tf.lite.OpsSet[kernels]]
        contents[label] = converter.convert()
    contents |= {label: Path(file).read_bytes() for label, file in job["files"].items()}
    found = {}
    for label, content in contents.items():
        right = float(np.mean(_answers(content, name, rows["rows"]) == rows["labels"]))
        found[label] = {"bytes": len(content), "right": right}
    return found


_KINDS = {"model": _model, "int8": _int8}


def _told(job):
    """The answer, by a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            found = _KINDS[job["kind"]](job)
        except Exception as error:
            found = {"broken": f"{type(error).__name__}: {str(error)[:300]}"}
        with os.fdopen(write, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"broken": f"TensorFlow ended with status {status}"}


def main():
    for job in json.loads(Path(sys.argv[1]).read_text()):
        found = {"name": job["name"], **_told(job)}
        print("RESULT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
