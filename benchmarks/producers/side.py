"""One side in a process of its own, asked in lines of JSON as the zoo's are (`zoo/side.py`).

{"do": "load", "library": l, "model": folder} answers with `load_s`, seconds that opening the
SavedModel takes, the library imported, and `first_s`, until it has answered once.
"""

import importlib
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import Work
from producers import programs
from producers.workloads import Workload
from zoo.side import Side, answer_requests


class ProducersSide(Side):
    """A model of a producer."""

    def make(self, request: dict[str, Any]) -> Work:
        """The workload on the side."""
        return programs.make(request["side"], Workload(**request["workload"]))

    def load(self, request: dict[str, Any]) -> dict[str, float]:
        """A model from its folder, for the first time in this process."""
        tf = importlib.import_module(request["library"])
        start = time.perf_counter()
        loaded = tf.saved_model.load(request["model"])
        loaded_s = time.perf_counter()
        serve = loaded.signatures["serving_default"]
        (name,) = serve.structured_input_signature[1]
        serve(**{name: tf.zeros([1, *serve.structured_input_signature[1][name].shape[1:]])})
        return {"load_s": loaded_s - start, "first_s": time.perf_counter() - start}


if __name__ == "__main__":
    answer_requests(ProducersSide())
