"""Explains names that a namespace lacks: `tf.lite`, `tf.types.experimental.TraceType`.

Python calls a module's `__getattr__` for missing names. Each module that is a namespace of
TensorFlow gets one that explains, after it has been executed.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Module -> its namespace; a test checks that the table is complete.
NAMESPACES = {
    "pinnace.autodiff": "tf.autodiff",
    "pinnace.checkpoint.experimental": "tf.train.experimental",
    "pinnace.data": "tf.data",
    "pinnace.data.experimental": "tf.data.experimental",
    "pinnace.distribute": "tf.distribute",
    "pinnace.distribute.cluster_resolver": "tf.distribute.cluster_resolver",
    "pinnace.distribute.experimental": "tf.distribute.experimental",
    "pinnace.experimental": "tf.experimental",
    "pinnace.feature_column": "tf.feature_column",
    "pinnace.framework.config": "tf.config",
    "pinnace.framework.dlpack": "tf.experimental.dlpack",
    "pinnace.framework.dtypes": "tf.dtypes",
    "pinnace.framework.errors": "tf.errors",
    "pinnace.framework.experimental_dtypes": "tf.dtypes.experimental",
    "pinnace.framework.experimental_config": "tf.config.experimental",
    "pinnace.framework.optimizer_options": "tf.config.optimizer",
    "pinnace.framework.structure": "tf.nest",
    "pinnace.framework.threading": "tf.config.threading",
    "pinnace.functions.autograph": "tf.autograph",
    "pinnace.functions.autograph.experimental": "tf.autograph.experimental",
    "pinnace.graph_util": "tf.graph_util",
    "pinnace.io": "tf.io",
    "pinnace.keras": "tf.keras",
    "pinnace.keras.activations": "tf.keras.activations",
    "pinnace.keras.applications": "tf.keras.applications",
    "pinnace.keras.applications.convnext": "tf.keras.applications.convnext",
    "pinnace.keras.applications.densenet": "tf.keras.applications.densenet",
    "pinnace.keras.applications.efficientnet": "tf.keras.applications.efficientnet",
    "pinnace.keras.applications.efficientnet_v2": "tf.keras.applications.efficientnet_v2",
    "pinnace.keras.applications.imagenet_utils": "tf.keras.applications.imagenet_utils",
    "pinnace.keras.applications.inception_resnet_v2": "tf.keras.applications.inception_resnet_v2",
    "pinnace.keras.applications.inception_v3": "tf.keras.applications.inception_v3",
    "pinnace.keras.applications.mobilenet": "tf.keras.applications.mobilenet",
    "pinnace.keras.applications.mobilenet_v2": "tf.keras.applications.mobilenet_v2",
    "pinnace.keras.applications.mobilenet_v3": "tf.keras.applications.mobilenet_v3",
    "pinnace.keras.applications.nasnet": "tf.keras.applications.nasnet",
    "pinnace.keras.applications.resnet": "tf.keras.applications.resnet",
    "pinnace.keras.applications.resnet50": "tf.keras.applications.resnet50",
    "pinnace.keras.applications.resnet_v2": "tf.keras.applications.resnet_v2",
    "pinnace.keras.applications.vgg16": "tf.keras.applications.vgg16",
    "pinnace.keras.applications.vgg19": "tf.keras.applications.vgg19",
    "pinnace.keras.applications.xception": "tf.keras.applications.xception",
    "pinnace.keras.backend": "tf.keras.backend",
    "pinnace.keras.callbacks": "tf.keras.callbacks",
    "pinnace.keras.config": "tf.keras.config",
    "pinnace.keras.constraints": "tf.keras.constraints",
    "pinnace.keras.datasets.boston_housing": "tf.keras.datasets.boston_housing",
    "pinnace.keras.datasets.california_housing": "tf.keras.datasets.california_housing",
    "pinnace.keras.datasets.cifar10": "tf.keras.datasets.cifar10",
    "pinnace.keras.datasets.cifar100": "tf.keras.datasets.cifar100",
    "pinnace.keras.datasets.fashion_mnist": "tf.keras.datasets.fashion_mnist",
    "pinnace.keras.datasets.imdb": "tf.keras.datasets.imdb",
    "pinnace.keras.datasets.mnist": "tf.keras.datasets.mnist",
    "pinnace.keras.datasets.reuters": "tf.keras.datasets.reuters",
    "pinnace.keras.dtype_policies": "tf.keras.dtype_policies",
    "pinnace.keras.export": "tf.keras.export",
    "pinnace.keras.initializers": "tf.keras.initializers",
    "pinnace.keras.layers": "tf.keras.layers",
    "pinnace.keras.legacy.saving": "tf.keras.legacy.saving",
    "pinnace.keras.losses": "tf.keras.losses",
    "pinnace.keras.metrics": "tf.keras.metrics",
    "pinnace.keras.mixed_precision": "tf.keras.mixed_precision",
    "pinnace.keras.models": "tf.keras.models",
    "pinnace.keras.ops": "tf.keras.ops",
    "pinnace.keras.optimizers": "tf.keras.optimizers",
    "pinnace.keras.optimizers.legacy": "tf.keras.optimizers.legacy",
    "pinnace.keras.optimizers.schedules": "tf.keras.optimizers.schedules",
    "pinnace.keras.preprocessing": "tf.keras.preprocessing",
    "pinnace.keras.preprocessing.image": "tf.keras.preprocessing.image",
    "pinnace.keras.preprocessing.sequence": "tf.keras.preprocessing.sequence",
    "pinnace.keras.preprocessing.text": "tf.keras.preprocessing.text",
    "pinnace.keras.quantizers": "tf.keras.quantizers",
    "pinnace.keras.random": "tf.keras.random",
    "pinnace.keras.regularizers": "tf.keras.regularizers",
    "pinnace.keras.tree": "tf.keras.tree",
    "pinnace.keras.utils_namespace": "tf.keras.utils",
    "pinnace.keras.wrappers": "tf.keras.wrappers",
    "pinnace.linalg": "tf.linalg",
    "pinnace.linear_operators.experimental": "tf.linalg.experimental",
    "pinnace.lite": "tf.lite",
    "pinnace.lookup": "tf.lookup",
    "pinnace.lookup.experimental": "tf.lookup.experimental",
    "pinnace.numpy_names": "tf.experimental.numpy",
    "pinnace.numpy_names.random": "tf.experimental.numpy.random",
    "pinnace.ops.audio": "tf.audio",
    "pinnace.ops.composites.extension.extension_type": "tf.experimental.extension_type",
    "pinnace.ops.composites.ragged": "tf.ragged",
    "pinnace.ops.composites.sets": "tf.sets",
    "pinnace.ops.composites.sparse": "tf.sparse",
    "pinnace.ops.control.assertions": "tf.debugging",
    "pinnace.ops.image": "tf.image",
    "pinnace.ops.io.gfile": "tf.io.gfile",
    "pinnace.ops.math": "tf.math",
    "pinnace.ops.math.bits": "tf.bitwise",
    "pinnace.ops.math.special": "tf.math.special",
    "pinnace.ops.nn": "tf.nn",
    "pinnace.ops.nn.experimental": "tf.nn.experimental",
    "pinnace.ops.quantization": "tf.quantization",
    "pinnace.ops.queue": "tf.queue",
    "pinnace.ops.random": "tf.random",
    "pinnace.ops.random.experimental": "tf.random.experimental",
    "pinnace.ops.raw_ops": "tf.raw_ops",
    "pinnace.ops.signal": "tf.signal",
    "pinnace.ops.strings": "tf.strings",
    "pinnace.profiler.experimental": "tf.profiler.experimental",
    "pinnace.saved_model": "tf.saved_model",
    "pinnace.saved_model.experimental": "tf.saved_model.experimental",
    "pinnace.summary": "tf.summary",
    "pinnace.summary.experimental": "tf.summary.experimental",
    "pinnace.test": "tf.test",
    "pinnace.testing.experimental": "tf.test.experimental",
    "pinnace.train": "tf.train",
    "pinnace.types.distributed": "tf.types.experimental.distributed",
    "pinnace.types.experimental": "tf.types.experimental",
    "pinnace.version": "tf.version",
}


class _Finder:
    """Finds these modules like the other finders, and explains names missing from them."""

    def find_spec(self, name: str, *more: Any) -> ModuleSpec | None:
        if name not in NAMESPACES:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, *more) if find is not None else None
            if spec is not None:
                break
        else:
            return None
        if spec.loader is not None and "exec_module" not in vars(spec.loader):
            execute = spec.loader.exec_module
            explained = functools.partial(_execute, execute)
            spec.loader.exec_module = explained  # type: ignore[method-assign]
        return spec


def _execute(execute: Any, module: ModuleType) -> None:
    execute(module)
    _explain(module)


def _explain(module: ModuleType) -> None:
    look = vars(module).get("__getattr__")
    namespace = NAMESPACES[module.__name__]

    def __getattr__(name: str) -> Any:  # noqa: N807 (Python's name for it)
        if look is None:
            raise error(namespace, name)
        try:
            return look(name)
        except AttributeError as missed:
            if name.startswith("_"):
                raise
            raise AttributeError(_Explanation(namespace, name, str(missed))) from missed

    module.__dict__["__getattr__"] = __getattr__


class _Explanation:
    """The text of an error, looked up when it is read.

    `hasattr`, and `from package import module` before it imports the module, drop the error: they
    must not load the table of version 1.
    """

    def __init__(self, namespace: str, name: str, plain: str) -> None:
        self._namespace, self._name, self._plain = namespace, name, plain

    def __str__(self) -> str:
        from pinnace import late  # this and the table are read when a name is missing
        from pinnace.framework import missing_names

        full = f"{self._namespace}.{self._name}"
        told = missing_names.explain(full) or late.of_version_1(full.removeprefix("tf."))
        return told or self._plain

    def __repr__(self) -> str:
        return repr(str(self))


def error(namespace: str, name: str) -> AttributeError:
    """The error for a name that a namespace lacks.

    Args:
        namespace: TensorFlow's namespace, such as `tf.linalg`.
        name: the name looked up there.
    """
    plain = f"module 'pinnace{namespace.removeprefix('tf')}' has no attribute {name!r}"
    return AttributeError(plain if name.startswith("_") else _Explanation(namespace, name, plain))


def install() -> None:
    """Install the finder; called once, when pinnace is first imported."""
    for name in NAMESPACES:
        if name in sys.modules:
            _explain(sys.modules[name])
    sys.meta_path.insert(0, _Finder())
