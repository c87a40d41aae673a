"""`make threads`: eight threads call one loaded model with changing shapes, while its forms change.

Every result is compared with the plan's, computed beforehand. The tier changes continuously:
layouts, regions, small plans, loops and recurrences are made, compared, called and replaced while
other threads run them.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import pinnace as tf
from pinnace.engine import rejections
from pinnace.framework import config
from tests.support.corpus import GOLDEN

if TYPE_CHECKING:
    from pathlib import Path

MODELS = ("keras_mlp", "keras_lstm", "keras_gru", "keras_cnn", "keras_transformer")
# More shapes than a plan has forms for; small ones are used more often.
_ROWS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 20, 24)
_TIERS = ("auto", "auto", "auto", "compiled", "plan", "eager")
_FRESH_S = 2.0  # the model is reloaded, so that its forms are made again


@dataclass
class Found:
    """The results of the threads."""

    answers: int = 0
    models: int = 0
    wrong: list[str] = field(default_factory=list)


def storm(folder: Path, seconds: float, threads: int = 8, seed: int = 0) -> Found:
    """Run one model in several threads for some time.

    Args:
        folder: folder of the SavedModel.
        seconds: the duration.
        threads: number of threads.
        seed: seed of the inputs and of each thread's choices.
    """
    tier = config.settings.tier
    found = Found()
    try:
        config.set_tier("plan")
        cases = _cases(folder, seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end and not found.wrong:
            _one_model(folder, cases, min(end, time.monotonic() + _FRESH_S), threads, seed, found)
            found.models += 1
    finally:
        config.set_tier(tier)
    return found


def _cases(folder: Path, seed: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Feeds, and the plan's results for them."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    draw = np.random.default_rng(seed)
    specs = signature.structured_input_signature[1]
    cases = []
    for rows in _ROWS:
        feeds = {}
        for name, spec in specs.items():
            shape = [rows, *(4 if size is None else size for size in spec.shape[1:])]
            drawn = draw.standard_normal(shape)
            feeds[name] = (drawn if spec.dtype.is_floating else np.abs(drawn)).astype(
                spec.dtype.as_numpy_dtype
            )
        cases.append((feeds, {k: np.array(v) for k, v in signature.run_arrays(feeds).items()}))
    return cases


def _one_model(
    folder: Path,
    cases: list[tuple[dict[str, Any], dict[str, Any]]],
    end: float,
    threads: int,
    seed: int,
    found: Found,
) -> None:
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    lock = threading.Lock()
    weights = [1 / (1 + place) for place in range(len(cases))]

    def work(number: int) -> None:
        chosen = random.Random(seed * 1000 + number)
        for count in itertools.count():
            if time.monotonic() >= end or found.wrong:
                break
            (case,) = chosen.choices(range(len(cases)), weights)
            feeds, wanted = cases[case]
            try:
                got = signature.run_arrays(feeds)
                for name, one in wanted.items():
                    # Regions compute in another order; results are of ordinary size.
                    np.testing.assert_allclose(got[name], one, rtol=1e-4, atol=1e-5)
            except Exception as error:
                found.wrong.append(f"thread {number}, call {count}, rows {_ROWS[case]}: {error}")
                raise
            with lock:
                found.answers += 1

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for one in running:
        one.start()
    chosen = random.Random(seed)
    while any(one.is_alive() for one in running):
        config.set_tier(chosen.choice(_TIERS))
        running[0].join(0.05)
        if not running[0].is_alive():
            for one in running:
                one.join()


def main() -> int:
    """Run all models, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    for name in MODELS:
        found = storm(
            GOLDEN / name / "model",
            options.seconds / len(MODELS),
            options.threads,
            options.seed,
        )
        line = f"{name}: {found.answers} answers of {found.models} loads, {len(found.wrong)} wrong"
        sys.stdout.write("\n  ".join([line, *found.wrong]) + "\n")
        failed = failed or bool(found.wrong)
    sys.stdout.write(f"kernels rejected: {rejections.count()}\n")
    return int(failed or rejections.count() > 0)


if __name__ == "__main__":
    sys.exit(main())
