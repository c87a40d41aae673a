"""Boosted trees of ydf: `written_forests.py FOLDER boosted_TREES...`.

Each has `forest`, as ydf saves it, `model`, the SavedModel that ydf makes of it, and inputs with
ydf's answers. Some values are missing, as in tables of people.
"""

import sys
from pathlib import Path

import numpy as np
import ydf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from producers.workloads import TREES_ROWS

FEATURES, TAUGHT = 20, 4000


def features(random: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Twenty numbers, of which a few are missing."""
    found = {f"f{i}": random.standard_normal(rows).astype("f4") for i in range(FEATURES)}
    found["f3"][random.random(rows) < 0.05] = np.nan
    return found


def main() -> None:
    """See above."""
    ydf.verbose(0)
    for name in sys.argv[2:]:
        target = Path(sys.argv[1]) / name
        target.mkdir()
        random = np.random.default_rng(3)
        taught = features(random, TAUGHT)
        label = sum(np.sin((i + 1) * np.nan_to_num(x)) for i, x in enumerate(taught.values()))
        learner = ydf.GradientBoostedTreesLearner(
            label="y",
            task=ydf.Task.REGRESSION,
            num_trees=int(name.rpartition("_")[2]),
            max_depth=6,
            early_stopping="NONE",
            validation_ratio=0.0,
        )
        model = learner.train({**taught, "y": label.astype("f4")}, verbose=0)
        model.save(str(target / "forest"))
        model.to_tensorflow_saved_model(str(target / "model"), mode="tf")
        asked = features(random, max(TREES_ROWS))
        np.savez(target / "asked.npz", **asked)
        np.savez(target / "answers.npz", answer=model.predict(asked))
        print(name, model.num_trees(), "trees", flush=True)


if __name__ == "__main__":
    main()
