"""Writes the models that `make test` runs beside itself: some of tests/interop/v1_*.py.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/v1_models/make.py [NAME ...]
"""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent.parent
sys.path.insert(0, str(TESTS))

from support.golden import record  # noqa: E402 - the path is set above

NAMES = (
    "asked_whether_initialised",
    "assigned_in_a_condition_in_a_loop",
    "conditions_by_reference",
    "conditions_that_give_references",
    "counter_by_reference",
    "frozen_from_the_middle",
    "frozen_loop",
    "frozen_mlp_resources_as_text",
    "half_plus_two",
    "hash_table_by_reference",
    "initialised_iterator",
    "loops_by_reference",
    "one_shot_iterator",
    "only_initialised_resources",
    "parsed_to_sparse",
    "partly_initialised",
    "pipeline_in_a_signature",
    "ragged_in_and_out",
    "regressor",
    "restored_from_checkpoint",
    "scattered_by_reference",
    "serve_and_train",
    "slices_in_and_out",
    "sparse_beside_names_with_signs",
    "sparse_in_and_out",
    "table_in_a_condition",
    "tables_of_the_collection",
    "text_file_columns",
    "transformed_features",
    "trees_classifier",
    "trees_of_three_classes",
    "trees_regressor_with_a_local_copy",
    "two_sparse_of_other_dtypes",
    "unknown_rank",
)

CHOSEN = sys.argv[1:] or NAMES
subprocess.run([sys.executable, TESTS / "interop" / "v1_writing.py", HERE, *CHOSEN], check=True)
for name in CHOSEN:
    made_with = f"tensorflow {version('tensorflow-cpu')}"
    record(f"v1_models/{name}", script="v1_models/make.py", made_with=made_with)
