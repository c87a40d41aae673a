"""`make profile-demo`: where the time of one MobileNetV2 goes, and traces to look at."""

import argparse
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np

import pinnace as tf
from zoo import store

NETWORK = "mobilenet_v2"
# Reads an XSpace by TensorFlow's own message class; prints the events of each line.
READ_XSPACE = """
import sys
from tensorflow.tsl.profiler.protobuf import xplane_pb2
space = xplane_pb2.XSpace()
space.ParseFromString(open(sys.argv[1], "rb").read())
for plane in space.planes:
    for line in plane.lines:
        assert all(event.metadata_id in plane.event_metadata for event in line.events)
        print(sum(1 for _ in line.events))
"""


def main() -> int:
    """Run the command line; 1 if a file is not what it should be."""
    parser = argparse.ArgumentParser(description="a profile of MobileNetV2")
    parser.add_argument("--to", type=Path, default=Path("build/profile"), help="log folder")
    folder: Path = parser.parse_args().to
    store.prepare([NETWORK])
    signature = tf.saved_model.load(store.folder(NETWORK) / "model").signatures["serving_default"]
    (images,) = store.arrays(NETWORK, "asked").values()
    asked = tf.constant(images[:1])
    expected = signature(asked)
    profile = tf.profiler.profile(signature, asked)
    print(profile.table())
    for name, tensor in profile.result.items():
        np.testing.assert_allclose(tensor.numpy(), expected[name].numpy(), rtol=1e-4, atol=1e-5)
    written = [*profile.save(folder / "mobilenet_v2.trace.json"), *profile.save(folder)]
    problems = [problem for path in written for problem in problems_of(path)]
    for problem in problems:
        print(f"FAILED {problem}", file=sys.stderr)
    print()
    for path in written:
        print(f"wrote {path}")
    print("Chrome's viewer (chrome://tracing) or https://ui.perfetto.dev open the .json;")
    print(f"with TensorBoard's profile plugin: tensorboard --logdir {folder}")
    return 1 if problems else 0


def problems_of(path: Path) -> list[str]:
    """What is wrong with a file of a profile."""
    data = path.read_bytes()
    if path.name.endswith(".json.gz"):
        data = gzip.decompress(data)
    if ".json" in path.name:
        return [f"{path}: {problem}" for problem in problems_of_events(json.loads(data))]
    if path.name.endswith(".xplane.pb"):
        python = os.environ.get(store.TENSORFLOW_PYTHON)
        if python is None:
            print(f"{path.name}: not read again, there is no TensorFlow")
            return []
        command = [python, "-c", READ_XSPACE, str(path)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        counts = [int(one) for one in done.stdout.split()]
        return [] if counts and all(counts) else [f"{path}: {done.stderr[-500:]} {counts}"]
    return []


def problems_of_events(trace: dict[str, object]) -> list[str]:
    """What Chrome's trace event format does not allow; complete events must nest, too."""
    found = []
    ends: dict[int, list[float]] = {}
    events = trace["traceEvents"]
    for event in sorted(events, key=lambda one: (one.get("ts", -1), -one.get("dur", 0))):
        if event["ph"] not in {"X", "M"} or not event["name"]:
            found.append(f"{event}: neither a complete event nor metadata")
        if event["ph"] != "X":
            continue
        if event["ts"] < 0 or event["dur"] < 0:
            found.append(f"{event['name']}: {event['ts']} for {event['dur']}")
        inside = ends.setdefault(event["tid"], [])
        while inside and inside[-1] <= event["ts"] + 0.002:
            inside.pop()
        end = event["ts"] + event["dur"]
        if inside and end > inside[-1] + 0.002:  # times are rounded to a nanosecond each
            found.append(f"{event['name']}: ends {end - inside[-1]} us behind what it is inside of")
        inside.append(end)
    if not ends:
        found.append("no complete event")
    return found


if __name__ == "__main__":
    sys.exit(main())
