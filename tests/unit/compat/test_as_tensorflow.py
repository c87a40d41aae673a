"""Programs that import TensorFlow run with pinnace, in separate processes."""

import subprocess
import sys
from pathlib import Path

import pytest

import pinnace as tf
from support.fresh_process import run_fresh

INSTALL = "from pinnace.compat import as_tensorflow; as_tensorflow.install()\n"


def run(code: str) -> str:
    return run_fresh(INSTALL + code).strip()


@pytest.mark.parametrize(
    "statement",
    [
        "import tensorflow as tf; found = tf.keras.layers.Dense",
        "import tensorflow.keras.layers as layers; found = layers.Dense",
        "from tensorflow import keras; found = keras.layers.Dense",
        "from tensorflow.keras.layers import Dense as found",
        "import tensorflow.keras.layers, tensorflow; found = tensorflow.keras.layers.Dense",
        "import tensorflow.compat.v2 as tf; found = tf.keras.layers.Dense",
        "from tensorflow.compat.v2.keras.layers import Dense as found",
        "import keras; found = keras.layers.Dense",
        "from keras.layers import Dense as found",
        "from keras.src.layers import Dense as found",
        "import tf_keras; found = tf_keras.layers.Dense",
        "from tensorflow.python.keras.layers import Dense as found",
    ],
)
def test_every_way_to_import_gives_the_same_class(statement: str) -> None:
    said = run(f"{statement}\nimport pinnace\nprint(found is pinnace.keras.layers.Dense)")
    assert said == "True"


def test_private_modules_that_programs_import_have_their_public_names() -> None:
    said = run(
        "from tensorflow.python.framework.errors_impl import NotFoundError\n"
        "from tensorflow.python.ops import math_ops\n"
        "from tensorflow.python.framework import dtypes, ops\n"
        "import pinnace\n"
        "print(NotFoundError is pinnace.errors.NotFoundError, dtypes.float32 is pinnace.float32,\n"
        "      math_ops.reduce_sum is pinnace.reduce_sum,\n"
        "      ops.convert_to_tensor is pinnace.convert_to_tensor)"
    )
    assert said == "True True True True"


def test_private_modules_of_keras_have_what_packages_import() -> None:
    """Each of these is a line from a package on PyPI."""
    said = run(
        "from keras.src.backend import get_keras_mask, set_keras_mask\n"
        "from keras.src.distribution import distribution_lib\n"
        "from keras.src.layers.convolutional.base_conv import BaseConv\n"
        "from keras.src.losses.losses import LossFunctionWrapper\n"
        "from keras.src.saving import serialization_lib\n"
        "from keras.src.layers.attention.attention import Attention\n"
        "from keras.src.backend.common.keras_tensor import KerasTensor, any_symbolic_tensors\n"
        "from keras.src.trainers.data_adapters.data_adapter_utils import list_to_tuple\n"
        "from keras.src.utils.backend_utils import in_grain_data_pipeline\n"
        "from tensorflow.python.eager import context\n"
        "from tensorflow.python.framework import config\n"
        "import keras, pinnace\n"
        "x = pinnace.ones([2])\n"
        "set_keras_mask(x, x > 0); seen = get_keras_mask(x) is not None\n"
        "set_keras_mask(x, None)\n"
        "with serialization_lib.SafeModeScope(False):\n"
        "    safe = serialization_lib.in_safe_mode()\n"
        "pinnace.random.set_seed(7)\n"
        "print(seen, get_keras_mask(x), safe, serialization_lib.in_safe_mode(),\n"
        "      distribution_lib.distribution(), in_grain_data_pipeline(), list_to_tuple([1]),\n"
        "      Attention is pinnace.keras.layers.Attention, KerasTensor is keras.KerasTensor,\n"
        "      LossFunctionWrapper is pinnace.keras.losses.LossFunctionWrapper,\n"
        "      any_symbolic_tensors(([keras.Input((1,))],)), any_symbolic_tensors((x,)),\n"
        "      issubclass(keras.layers.Conv2D, BaseConv), context.global_seed(),\n"
        "      context.executing_eagerly(),\n"
        "      config.is_op_determinism_enabled(), hasattr(keras.src.backend, 'nothing'))"
    )
    assert said == (
        "True None False None None False (1,) True True True True False True 7 True False False"
    )


def test_all_public_names_are_imported_at_once() -> None:
    """Packages write `from keras import *`."""
    said = run(
        "from keras import *\nfrom keras.layers import *\nimport pinnace\n"
        "print(layers.Dense is pinnace.keras.layers.Dense, Dense is layers.Dense,\n"
        "      utils.to_categorical([1]))"
    )
    assert said == "True True [[0. 1.]]"


def test_models_go_into_open_files_and_weights_into_stores(tmp_path: Path) -> None:
    said = run(
        "import io, keras, numpy as np\n"
        "from keras.src.saving.saving_lib import load_model, save_model\n"
        "model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])\n"
        "file = io.BytesIO(); save_model(model, file)\n"
        "again = load_model(io.BytesIO(file.getvalue()))\n"
        "x = np.ones((1, 2)); print((model(x) == again(x)).numpy().all())\n"
        f"path = {str(tmp_path / 'own.h5')!r}\n"
        "store = keras.src.saving.saving_lib.H5IOStore(path, mode='w')\n"
        "store.make('lora')['rank'] = 4; store.make('lora/3')['a'] = model.weights[0]\n"
        "store.close(); store = keras.src.saving.saving_lib.H5IOStore(path)\n"
        "print(int(store.get('lora')['rank'][()]), store.get('lora/3')['a'].shape,\n"
        "      len(store.get('lora/4')))\n"
        "try:\n    keras.src.saving.saving_lib.H5IOStore(path, mode='a')\n"
        "except ValueError as error:\n    print(error)"
    ).splitlines()
    assert said[:2] == ["True", "4 (2, 1) 0"]
    assert said[2].startswith("H5IOStore: mode must be 'r' or 'w'")


def test_what_is_not_there_says_why() -> None:
    """TensorFlow always has `tensorflow.tpu`: programs import it before they know they need it."""
    said = run(
        "import tensorflow.tpu as tpu\n"
        "try:\n    tpu.experimental\n"
        "except AttributeError as error:\n    print(error)\n"
        "print(hasattr(tpu, 'XLAOptions'))\n"
        "for name in ('tensorflow.nothing.at_all', 'tensorflow.Tensor', 'keras.nothing'):\n"
        "    try:\n        __import__(name)\n"
        "    except ModuleNotFoundError as error:\n        print(error.name, '|', error)\n"
    ).splitlines()
    assert said[0].startswith("tf.tpu is not in pinnace: it computes on CPUs and reaches no TPU")
    assert said[2] == "False"
    assert said[3].startswith("tensorflow.nothing | No module named 'tensorflow.nothing'")
    assert said[4] == "tensorflow.Tensor | No module named 'tensorflow.Tensor': it is no module"
    assert said[5].startswith("keras.nothing | No module named 'keras.nothing'")


def test_versions_are_those_of_the_names() -> None:
    """Programs compare them to choose between old and new names."""
    said = run(
        "import tensorflow as tf, keras, pinnace\n"
        "print(tf.__version__.split('.')[0], keras.__version__.split('.')[0],\n"
        "      pinnace.__version__ != tf.__version__, tf.version.VERSION == tf.__version__,\n"
        "      pinnace.version.VERSION == pinnace.__version__)"
    )
    assert said == "2 3 True True True"
    said = run(
        "import tensorflow as tf, tensorflow.compat.v1 as one, tensorflow.compat.v2 as two\n"
        "print(one.__version__ == two.__version__ == tf.__version__)"
    )
    assert said == "True"


def test_the_version_is_that_which_files_are_written_for(tmp_path: Path) -> None:
    tf.saved_model.save(tf.Module(), str(tmp_path))
    told = tf.saved_model.load(str(tmp_path)).tensorflow_version
    assert run("import tensorflow as tf; print(tf.__version__)") == told


def test_what_a_program_replaces_is_replaced_for_all() -> None:
    said = run(
        "import tensorflow as tf, tensorflow.keras.backend as K, pinnace\n"
        "tf.keras.backend.own = 3\nprint(pinnace.keras.backend.own, K.own)"
    )
    assert said == "3 3"


def test_it_is_refused_after_tensorflow_and_undone() -> None:
    said = run_fresh(
        "import sys, types\n"
        "from pinnace.compat import as_tensorflow\n"
        "sys.modules['tensorflow'] = types.ModuleType('tensorflow')\n"
        "try:\n    as_tensorflow.install()\nexcept RuntimeError as error:\n    print(error)\n"
        "del sys.modules['tensorflow']\n"
        "before = list(sys.meta_path)\n"
        "as_tensorflow.install(); as_tensorflow.install()\n"
        "import tensorflow.keras\n"
        "as_tensorflow.uninstall(); as_tensorflow.uninstall()\n"
        "print(sys.meta_path == before, [n for n in sys.modules if n.startswith('tensorflow')])"
    )
    assert "tensorflow has been imported already" in said
    assert said.strip().endswith("True []")


def test_a_whole_program_runs(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import sys\nimport tensorflow as tf\nfrom tensorflow.keras import layers\n"
        "model = tf.keras.Sequential([tf.keras.Input([2]), layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(tf.ones([4, 2]), tf.ones([4, 1]), verbose=0)\n"
        "print(__name__, sys.argv[1:], model.__module__)\n"
    )
    command = [sys.executable, "-m", "pinnace.compat.as_tensorflow", str(program), "--epochs", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "__main__ ['--epochs', '3'] pinnace.keras.models.sequential\n", done
    asked = subprocess.run(command[:3], capture_output=True, text=True, timeout=120, check=False)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "PROGRAM [ARGUMENTS]" in asked.stderr
