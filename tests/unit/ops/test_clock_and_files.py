"""Ops that depend on the machine: the time, and file names."""

import pinnace as tf


def test_the_time_is_asked_at_each_run():
    now = tf.function(tf.timestamp)
    first, eager, last = now(), tf.timestamp(), now()
    assert first.dtype is tf.float64
    assert 1.7e9 < float(first) <= float(eager) <= float(last)


def test_files_are_matched_once(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).touch()
    found = tf.io.match_filenames_once(str(tmp_path / "*.txt"))
    (tmp_path / "d.txt").touch()
    assert [name.decode()[-5:] for name in found.numpy()] == ["a.txt", "b.txt"]
    assert not found.trainable
