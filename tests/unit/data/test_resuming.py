"""A saved iterator resumes in another process at exactly the same position."""

import json
from pathlib import Path

import numpy as np

import pinnace as tf
from pinnace import train
from support.fresh_process import run_fresh

PIPELINES = {
    "shuffled": "D.range(100).shuffle(20, seed=3).repeat(2).batch(7)",
    "unseeded": "D.range(100).shuffle(20).batch(7)",
    "parallel": "D.range(100).map(lambda x: x * 2, num_parallel_calls=2).prefetch(2).batch(3)",
    "interleaved": (
        "D.range(10).interleave(lambda x: D.range(x * 10, x * 10 + 5), 3, num_parallel_calls=2)"
    ),
    "sampled": "D.sample_from_datasets([D.range(50), D.range(100, 150)], seed=2).batch(4)",
    "random": "D.random(seed=5).take(40).batch(3)",
}
SAVE = """
import json, sys
import pinnace as tf
D = tf.data.Dataset
rest = {}
for name, pipeline in json.loads(sys.argv[2]).items():
    iterator = iter(eval(pipeline))
    for _ in range(5):
        next(iterator)
    tf.train.Checkpoint(iterator=iterator).write(f"{sys.argv[1]}/{name}")
    rest[name] = [x.numpy().tolist() for x in iterator]
print(json.dumps(rest))
"""
RESUME = """
import json, sys
import pinnace as tf
D = tf.data.Dataset
rest = {}
for name, pipeline in json.loads(sys.argv[2]).items():
    iterator = iter(eval(pipeline))
    tf.train.Checkpoint(iterator=iterator).read(f"{sys.argv[1]}/{name}").assert_consumed()
    rest[name] = [x.numpy().tolist() for x in iterator]
print(json.dumps(rest))
"""


def test_a_pass_goes_on_in_a_new_process(tmp_path: Path) -> None:
    wanted, found = (
        json.loads(run_fresh(code, tmp_path, json.dumps(PIPELINES))) for code in (SAVE, RESUME)
    )
    assert all(wanted[name] for name in PIPELINES)
    for name in PIPELINES:
        assert found[name] == wanted[name], name


def test_model_and_position_are_saved_together(tmp_path: Path) -> None:
    total = tf.Variable(np.int64(0))
    iterator = iter(tf.data.Dataset.range(10))
    for _ in range(4):
        total.assign_add(next(iterator))
    path = train.Checkpoint(total=total, iterator=iterator).save(str(tmp_path / "c"))
    again, fresh = tf.Variable(np.int64(0)), iter(tf.data.Dataset.range(10))
    train.Checkpoint(total=again, iterator=fresh).restore(path).assert_consumed()
    for x in fresh:
        again.assign_add(x)
    assert int(again) == sum(range(10))
