"""Private modules of TensorFlow's that packages import: their names, in separate processes."""

import subprocess
import sys
from pathlib import Path

from pinnace.compat.private import MODULES
from support.fresh_process import run_fresh

INSTALL = "from pinnace.compat import as_tensorflow; as_tensorflow.install()\n"


def run(code: str) -> str:
    return run_fresh(INSTALL + code).strip()


def test_every_module_of_the_table_can_be_imported() -> None:
    code = (
        "import importlib\nfor name in {names!r}:\n    importlib.import_module(name)\nprint('all')"
    )
    assert run(code.format(names=sorted(MODULES))) == "all"


def test_names_are_looked_for_in_several_modules() -> None:
    said = run(
        "from tensorflow.python.ops import math_ops, nn_ops, gen_sparse_ops\n"
        "from tensorflow.python.framework import tensor_util, type_spec\n"
        "from tensorflow.python.util import nest\n"
        "import tensorflow as tf, tensorflow.compat.v2 as tf2\n"
        "print(math_ops.cast is tf.cast, math_ops.matmul is tf.matmul, nn_ops.relu is tf.nn.relu,\n"
        "      tensor_util.constant_value(tf.constant(3)) == 3, tf2.constant is tf.constant,\n"
        "      nest.flatten is tf.nest.flatten, type_spec.TypeSpec is tf.TypeSpec)\n"
        "x = gen_sparse_ops.sparse_reorder([[1], [0]], [1., 2.], [2])\n"
        "print(x[1].numpy().tolist())"
    )
    assert said == "True True True True True True True\n[2.0, 1.0]"


def test_nests_by_their_paths() -> None:
    said = run(
        "from tensorflow.python.util import nest\n"
        "tree = {'b': [1, 2], 'a': (3,)}\n"
        "print(nest.flatten_with_joined_string_paths(tree))\n"
        "print(list(nest.yield_flat_paths(tree)))\n"
        "print(nest.map_structure_with_tuple_paths(lambda p, x: (len(p), x), tree))\n"
        "print(nest.map_structure_with_paths(lambda p, x: p, tree))\n"
        "print(nest.map_structure_with_tuple_paths_up_to(\n"
        "    {'a': 0, 'b': 0}, lambda p, x: [p, x], tree))\n"
        "print(nest.get_traverse_shallow_structure(lambda s: not isinstance(s, tuple), tree))\n"
        "print(nest.list_to_tuple(tree), nest.is_mapping(tree))\n"
        "try:\n    nest.assert_shallow_structure([0, 0], [1])\n"
        "except ValueError:\n    print('refused')"
    ).splitlines()
    # As `tensorflow.python.util.nest` of TensorFlow 2.21 prints them.
    assert said == [
        "[('a/0', 3), ('b/0', 1), ('b/1', 2)]",
        "[('a', 0), ('b', 0), ('b', 1)]",
        "{'b': [(2, 1), (2, 2)], 'a': ((2, 3),)}",
        "{'b': ['b/0', 'b/1'], 'a': ('a/0',)}",
        "{'a': [('a',), (3,)], 'b': [('b',), [1, 2]]}",
        "{'b': [True, True], 'a': False}",
        "{'b': (1, 2), 'a': (3,)} True",
        "refused",
    ]


def test_what_is_deprecated_warns_and_goes_on() -> None:
    said = run(
        "import warnings\n"
        "from tensorflow.python.util import deprecation\n"
        "@deprecation.deprecated('2030-01-01', 'Use g.')\n"
        "def f(x):\n    return x + 1\n"
        "@deprecation.deprecated_args(None, 'Leave y out.', 'y', ('z', None))\n"
        "def h(x, y=0, z=None):\n    return x\n"
        "@deprecation.deprecated_arg_values(None, 'Give n.', n=None)\n"
        "def k(n=3):\n    return n\n"
        "old = deprecation.deprecated_alias('old', 'f', f)\n"
        "for call in (lambda: f(1), lambda: h(1), lambda: h(1, y=2), lambda: h(1, z=None),\n"
        "             lambda: k(), lambda: k(n=None), lambda: old(1)):\n"
        "    with warnings.catch_warnings(record=True) as told:\n"
        "        warnings.simplefilter('always')\n"
        "        print(call(), len(told))\n"
        "    with warnings.catch_warnings(), deprecation.silence():\n"
        "        call()\n"
        "print(deprecation.deprecated_argument_lookup('a', None, 'b', 2))\n"
        "try:\n    deprecation.deprecated_argument_lookup('a', 1, 'b', 2)\n"
        "except ValueError as error:\n    print(error)"
    ).splitlines()
    counts = ["2 1", "1 0", "1 1", "1 0", "3 0", "None 1", "2 2"]
    assert said == [*counts, "2", "Cannot specify both 'b' and 'a'."]


def test_a_composite_class_of_a_package_is_an_argument_of_a_function() -> None:
    """The protocol of `TypeSpec` with which packages write composite values."""
    said = run(
        "import tensorflow as tf\n"
        "from tensorflow.python.framework import composite_tensor, type_spec, type_spec_registry\n"
        "class Pair(composite_tensor.CompositeTensor):\n"
        "    def __init__(self, low, high):\n"
        "        self.low, self.high = tf.convert_to_tensor(low), tf.convert_to_tensor(high)\n"
        "    @property\n"
        "    def _type_spec(self):\n"
        "        return PairSpec(self.low.shape)\n"
        "@type_spec_registry.register('mine.PairSpec')\n"
        "class PairSpec(type_spec.BatchableTypeSpec):\n"
        "    __slots__ = ['shape']\n"
        "    value_type = property(lambda self: Pair)\n"
        "    def __init__(self, shape):\n"
        "        self.shape = tf.TensorShape(shape)\n"
        "    def _serialize(self):\n"
        "        return (self.shape,)\n"
        "    @property\n"
        "    def _component_specs(self):\n"
        "        return {'low': tf.TensorSpec(self.shape), 'high': tf.TensorSpec(self.shape)}\n"
        "    def _to_components(self, value):\n"
        "        return {'low': value.low, 'high': value.high}\n"
        "    def _from_components(self, parts):\n"
        "        return Pair(**parts)\n"
        "@tf.function\n"
        "def width(pair):\n    return Pair(pair.low * 0, pair.high - pair.low)\n"
        "found = width(Pair([1., 2.], [5., 8.]))\n"
        "print(type(found).__name__, found.high.numpy(), width.experimental_get_tracing_count())\n"
        "width(Pair([0., 2.], [5., 8.]))\n"
        "print(width.experimental_get_tracing_count(), len(tf.nest.flatten(found, True)))\n"
        "print(isinstance(found, composite_tensor.CompositeTensor),\n"
        "      isinstance(tf.sparse.eye(2), composite_tensor.CompositeTensor),\n"
        "      isinstance(tf.sparse.eye(2), Pair), type_spec_registry.get_name(PairSpec))\n"
        "try:\n    type_spec_registry.register('mine.PairSpec')\n"
        "except ValueError:\n    print('refused')"
    )
    assert said == "Pair [4. 6.] 1\n1 2\nTrue True False mine.PairSpec\nrefused"


def test_conditions_known_and_not() -> None:
    said = run(
        "import tensorflow as tf\n"
        "from tensorflow.python.framework import smart_cond\n"
        "cond = smart_cond.smart_cond\n"
        "print(cond(True, lambda: 1, lambda: 2), cond(0, lambda: 1, lambda: 2),\n"
        "      cond(tf.constant(True), lambda: 1, lambda: 2))\n"
        "f = tf.function(lambda x: cond(x, lambda: 1, lambda: 2))\n"
        "print(f(tf.constant(False)).numpy())\n"
        "for bad in (lambda: cond('yes', int, int), lambda: cond(True, 1, 2)):\n"
        "    try:\n        bad()\n"
        "    except TypeError:\n        print('refused')"
    )
    assert said == "1 2 1\n2\nrefused\nrefused"


def test_a_class_that_will_not_be_here_can_be_named_and_derived_from() -> None:
    """Packages ask `isinstance(strategy, TPUStrategy)`, and derive from it, without making one."""
    said = run(
        "import tensorflow as tf\n"
        "from tensorflow.distribute import TPUStrategy\n"
        "class Own(TPUStrategy):\n    pass\n"
        "print(isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy))\n"
        "print(tf.distribute.TPUStrategy is TPUStrategy)\n"
        "try:\n    Own()\n"
        "except tf.errors.UnimplementedError as error:\n    print(error)\n"
        "print(hasattr(tf, 'mlir'), hasattr(tf.distribute, 'no_such'))"
    ).splitlines()
    assert said[:2] == ["False", "True"]
    assert "tf.distribute.TPUStrategy is not in pinnace" in said[2]
    assert said[-1] == "False False"


def test_variables_by_their_values() -> None:
    said = run(
        "import tensorflow as tf\n"
        "from tensorflow.python.util import variable_utils, object_identity\n"
        "from tensorflow.python.ops import resource_variable_ops as r\n"
        "v = tf.Variable([1., 2.])\n"
        "found = variable_utils.convert_variables_to_tensors({'v': v, 'n': 3})\n"
        "print(type(found['v']) is type(tf.constant(0)), found['n'], r.is_resource_variable(v))\n"
        "spec = r.VariableSpec([2], trainable=False)\n"
        "print(spec.shape, spec.trainable, isinstance(v, r.BaseResourceVariable))\n"
        "keys = object_identity.ObjectIdentitySet([v, v])\n"
        "table = object_identity.ObjectIdentityDictionary({v.ref(): 1})\n"
        "table = object_identity.ObjectIdentityDictionary()\n"
        "table[v] = 5\n"
        "print(len(keys), v in keys, tf.Variable([1., 2.]) in keys, table[v], list(table)[0] is v)"
    )
    assert said == "True 3 True\n(2,) False True\n1 True False 5 True"


def test_a_program_with_private_modules_runs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from tensorflow.python.eager import context\n"
        "from tensorflow.python.ops.parallel_for import control_flow_ops\n"
        "import tensorflow as tf\n"
        "print(context.context().executing_eagerly(), context.context().device_spec.device_type,\n"
        "      control_flow_ops.pfor(lambda i: i * 2, 3).numpy().tolist())\n"
    )
    command = [sys.executable, "-m", "pinnace.compat.as_tensorflow", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "True CPU [0, 2, 4]\n", done


def test_everything_of_a_module_can_be_imported() -> None:
    said = run(
        "from tensorflow.keras.layers import *\n"
        "from tensorflow import *\n"
        "import pinnace\n"
        "import builtins  # `print` is TensorFlow's now\n"
        "builtins.print(Dense is pinnace.keras.layers.Dense, constant is pinnace.constant,\n"
        "      'TYPE_CHECKING' in globals(), 'Any' in globals())"
    )
    assert said == "True True False False"


def test_names_that_packages_reach_inside_of_namespaces() -> None:
    said = run(
        "import tensorflow.compat.v2 as tf, tensorflow.compat.v1 as tf1\n"
        "from tf_keras import __internal__\n"
        "from tensorflow.python.ops import random_ops, array_ops\n"
        "print(isinstance(tf.sparse.eye(2), tf.__internal__.CompositeTensor),\n"
        "      tf.__internal__.nest.is_mapping({}), "
        "'__add__' in tf.Tensor.OVERLOADABLE_OPERATORS)\n"
        "__internal__.utils.register_symbolic_tensor_type(int)\n"
        "x = random_ops.parameterized_truncated_normal([50], minvals=0., maxvals=.5)\n"
        "print(x.shape, bool(tf.reduce_all((x >= 0) & (x <= .5))))\n"
        "with tf1.colocate_with(x):\n"
        "    print(array_ops.prevent_gradient(tf.constant(3.)).numpy())\n"
        "print(int(tf1.Dimension(3)), tf1.Dimension(None).value, tf1.Dimension(2) == 2)\n"
        "module = tf.Module()\n"
        "module.hidden = module._no_dependency(tf.Module())\n"
        "print(len(module._trackable_children()), isinstance(module.hidden, tf.Module))\n"
        "graph = tf.Graph()\n"
        "print([graph.unique_name('a', mark_as_used=False), graph.unique_name('a'),\n"
        "       graph.unique_name('a')])\n"
        "try:\n    tf1.get_variable('v')\n"
        "except tf.errors.UnimplementedError as error:\n    print(error)"
    ).splitlines()
    assert said[:6] == ["True True True", "(50,) True", "3.0", "3 None True", "0 True", said[5]]
    assert said[5] == "['a', 'a', 'a_1']"
    assert said[6].startswith("tf.compat.v1.get_variable is not in pinnace")
