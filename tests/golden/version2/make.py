"""Writes small models of TensorFlow 2 that are hard to load beside itself, one of each kind.

Run with the Python that has TensorFlow, and tf_keras on its path: `make.py [KIND/NAME ...]`. The
programs are in tests/interop/version2/programs; `make interop` runs all of them.
"""

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "interop" / "version2" / "programs")]

import write  # noqa: E402 - the path is set above

from support.golden import record  # noqa: E402

# One of each kind, the smallest.
CHOSEN = (
    "bare function/concrete_root",
    "bare function/function_root_with_traces",
    "composite/ragged_input",
    "composite/ragged_words",
    "composite/sparse_input",
    "composite/sparse_output",
    "containers/lists_with_holes",
    "datasets/chosen",
    "datasets/grouped",
    "datasets/nested",
    "datasets/padded",
    "datasets/picked",
    "datasets/read_files",
    "examples/parsed_sequences",
    "preprocessing/keras2_inverse_lookup",
    "preprocessing/string_lookup",
    "slots/adam_module",
    "slots/momentum_module",
    "tables/table_from_file",
    "custom layers/keras3_custom",
    "wrapped/pruned",
    "wrapped/pruned_signature",
    "wrapped/loaded_from_version_1",
    "wrapped/wrapped_with_variable",
    "old methods/methods_of_2_0",
    "signs/policy",
    "signs/old_policy",
)


def main() -> None:
    import tensorflow as tf
    import tf_keras

    with tempfile.TemporaryDirectory() as scratch:
        for name in sys.argv[1:] or CHOSEN:
            write.write(name, Path(scratch))
            short = name.rpartition("/")[2]
            shutil.rmtree(HERE / short, ignore_errors=True)
            shutil.copytree(Path(scratch, name), HERE / short)
            # It contains the time of writing, and nothing else that is read.
            Path(HERE / short / "model" / "fingerprint.pb").unlink(missing_ok=True)
            record(
                f"version2/{short}",
                script="version2/make.py",
                made_with=f"tensorflow {tf.__version__}, tf_keras {tf_keras.__version__}",
            )


if __name__ == "__main__":
    main()
