"""A job whose last process misbehaves at its third step.

python ending.py killed|raises|ends|differs|sleeps|late FOLDER SECONDS
"""

import os
import signal
import sys
import time
from pathlib import Path

import pinnace as tf

how, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
LAST = int(os.environ["OMPI_COMM_WORLD_RANK"]) == int(os.environ["OMPI_COMM_WORLD_SIZE"]) - 1
if how == "late" and LAST:
    time.sleep(600)
options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=seconds or None)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
for step in range(6):
    if LAST and step == 3:
        (folder / "since").write_text(str(time.time()))
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "raises":
            raise ValueError("a sample that is no sample")
        if how == "ends":
            break
        if how == "differs":
            strategy.gather(tf.ones([2]), 0)
        if how == "sleeps":
            time.sleep(600)
    strategy.reduce("SUM", tf.ones([3]), axis=None)
