"""The registry of Keras classes: configurations, and objects restored from them.

object → {"module", "class_name", "config", "registered_name"} → object
"""

from __future__ import annotations

import functools
import importlib
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pinnace.framework.close_names import did_you_mean
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.keras import own_modules, restoring
from pinnace.keras.config_errors import MalformedConfigError, UnknownNameError
from pinnace.keras.missing_classes import missing_class
from pinnace.keras.stored_values import stored_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

# Public Keras modules whose classes a configuration may name.
_PUBLIC = (
    "keras",
    "keras.layers",
    "keras.models",
    "keras.losses",
    "keras.metrics",
    "keras.optimizers",
    "keras.optimizers.schedules",
    "keras.initializers",
    "keras.regularizers",
    "keras.constraints",
    "keras.activations",
    "keras.quantizers",
    "keras.dtype_policies",
)
# Modules whose functions a configuration may name; a file cannot name any other function.
_FUNCTIONS = ("keras.activations", "keras.losses", "keras.metrics")
_NOT_NAMED = {"get", "serialize", "deserialize"}
# Private folder -> the public module of its names.
_HOMES = {
    "models": "keras.models",
    "seeds": "keras.random",
    "dtype_policy": "keras",
    "policy_map": "keras.dtype_policies",
    "quantized_policies": "keras.dtype_policies",
}
# Arguments of Keras' constructors that are always ignored; other unknown ones are if None or False.
_MEANINGLESS = {"renorm_momentum"}
# Classes that Keras publishes under another name; older files contain their own name.
_SHOWN_AS = {"GroupedQueryAttention": "GroupQueryAttention"}
# Unpublished classes that Keras' files name -> the modules that define them, in Keras and here.
_RESIDUAL = "pinnace.keras.applications.residual_layers"
_OLDER = ("keras.layers", "pinnace.keras.layers.locally_connected")
_FEATURES = ("keras.src.layers.preprocessing.feature_space", "pinnace.keras.feature_kinds")
_HIDDEN = {
    "CustomScaleLayer": ("keras.src.applications.inception_resnet_v2", _RESIDUAL),
    "LayerScale": ("keras.src.applications.convnext", _RESIDUAL),
    "StochasticDepth": ("keras.src.applications.convnext", _RESIDUAL),
    **dict.fromkeys(("LocallyConnected1D", "LocallyConnected2D"), _OLDER),
    **dict.fromkeys(("Cross", "Feature", "TFDConcat", "TFDIdentity"), _FEATURES),
}
# Classes of modules that are imported late -> Keras' public module, and ours.
_LATE = {
    "FeatureSpace": ("keras.utils", "pinnace.keras.feature_space"),
}

_registered: dict[str, Any] = {}
_names: dict[Any, str] = {}


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[T], T]:
    """A decorator that makes a class or function known to `deserialize_keras_object`.

    Args:
        package: first part of the registered name `package>name`.
        name: the class's or function's own name if None.

    Raises:
        ValueError: a class without `get_config`.
    """

    def decorate(thing: T) -> T:
        own = name or thing.__name__  # type: ignore[attr-defined]  # a class or a function
        if inspect.isclass(thing) and not hasattr(thing, "get_config"):
            raise ValueError(
                "register_keras_serializable: Cannot register a class that does not have a "
                f"get_config method, got {own}"
            )
        key = f"{package}>{own}"
        _registered[key] = thing
        _names[thing] = key
        return thing

    return decorate


def get_registered_name(obj: Any) -> str:
    """`package>name` if it was registered, else its own name."""
    return _names.get(obj) or obj.__name__


def get_registered_object(
    name: str,
    custom_objects: Mapping[str, Any] | None = None,
    module_objects: Mapping[str, Any] | None = None,
) -> Any:
    """The class or function of that name; None if there is none."""
    for table in (_custom, custom_objects or {}, _registered, module_objects or {}):
        if name in table:
            return table[name]
    return None


_custom: dict[str, Any] = {}


def get_custom_objects() -> dict[str, Any]:
    """The table of names that take precedence, which may be modified."""
    return _custom


@contextmanager
def custom_object_scope(custom_objects: Mapping[str, Any] | None) -> Iterator[None]:
    """A block in which these names refer to these classes and functions.

    Args:
        custom_objects: classes and functions by name; None for none.
    """
    saved = dict(_custom)
    _custom.update(custom_objects or {})
    try:
        yield
    finally:
        _custom.clear()
        _custom.update(saved)


def public_module(cls: type) -> str | None:
    """The module that Keras exports the class from; None for a foreign class."""
    parts = cls.__module__.split(".")
    if parts[:2] != ["pinnace", "keras"]:
        return None
    home = parts[2] if len(parts) > 2 else ""
    if parts[-1] == "schedules":
        return "keras.optimizers.schedules"
    if parts[2:] == ["models", "functional"]:
        return "keras.src.models.functional"  # Keras shows the class nowhere else
    known = _HIDDEN.get(cls.__name__) or _LATE.get(cls.__name__)
    if known is not None and cls.__module__ == known[1]:
        return known[0]
    return _HOMES.get(home, f"keras.{home}" if home else "keras")


def serialize_keras_object(obj: Any) -> Any:
    """A JSON-serialisable form for `deserialize_keras_object`.

    Raises:
        ValueError: the object is a lambda, or has no `get_config`.
    """
    if obj is None or isinstance(obj, (str, bool, int, float)):
        return obj
    if isinstance(obj, dict):
        return {key: serialize_keras_object(value) for key, value in obj.items()}
    if isinstance(obj, tuple):
        return {"class_name": "__tuple__", "items": [serialize_keras_object(x) for x in obj]}
    if isinstance(obj, list):
        return [serialize_keras_object(item) for item in obj]
    if isinstance(obj, (bytes, np.generic, np.ndarray, Tensor, DType, Shape, TensorSpec)):
        return stored_value(obj)
    if isinstance(obj, slice):
        parts = {name: getattr(obj, name) for name in ("start", "stop", "step")}
        return {"class_name": "__slice__", "config": serialize_keras_object(parts)}
    if obj is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if hasattr(obj, "get_config") and not inspect.isclass(obj):
        return _serialize_object(obj)
    if callable(obj):
        return _serialize_callable(obj)
    raise ValueError(f"serialize_keras_object: {obj!r} ({type(obj).__name__}) cannot be stored")


def _serialize_object(thing: Any) -> dict[str, Any]:
    cls = type(thing)
    module = public_module(cls)
    told = getattr(thing, "keras_class", None)
    if told is not None:
        # An operation: its class exists in Keras only.
        module, name = told
        stored = {"module": module, "class_name": name, "registered_name": name}
        # Keras' operations accept lists for tuples, and cannot read serialized tuples.
        return {**stored, "config": serialize_keras_object(without_tuples(thing.get_config()))}
    public = module is not None and cls.__name__ not in _HIDDEN
    stored = {
        "module": module or cls.__module__,
        "class_name": getattr(cls, "_shown_as", cls.__name__),
        "config": _stored_config(thing.get_config()),
        "registered_name": _names.get(cls) if public else get_registered_name(cls),
    }
    if getattr(thing, "_rules_of_keras", 3) != 3:
        stored[RULES] = thing._rules_of_keras
    # The library's own layers are built by their first call; a program's layers may need to be
    # built explicitly.
    own = () if module and cls.__name__ not in _LATE else ("build_config",)
    for key in (*own, "compile_config"):
        tell = getattr(thing, f"get_{key}", None)
        told = tell() if tell is not None else None
        if told is not None:
            stored[key] = serialize_keras_object(without_tuples(told))
    return stored


def _stored_config(value: Any) -> Any:
    """A configuration in which objects that JSON cannot store, such as layers, are serialized."""
    if isinstance(value, dict):
        return {key: _stored_config(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_stored_config(item) for item in value]
    is_object = hasattr(value, "get_config") and not inspect.isclass(value)
    return serialize_keras_object(value) if is_object or inspect.isfunction(value) else value


def without_tuples(value: Any) -> Any:
    """The value with tuples converted to lists."""
    if isinstance(value, (list, tuple)):
        return [without_tuples(item) for item in value]
    if isinstance(value, dict):
        return {key: without_tuples(item) for key, item in value.items()}
    return value


def _serialize_callable(thing: Any) -> Any:
    name = getattr(thing, "__name__", "")
    if name == "<lambda>" or not name:
        raise ValueError(
            f"serialize_keras_object: {thing!r} has no name by which it could be found\n"
            "  Try: a function of its own, with @register_keras_serializable()"
        )
    kind = "class" if inspect.isclass(thing) else "function"
    ours = thing.__module__.startswith("pinnace.keras")
    if ours and kind == "function" and thing not in _names:  # as Keras writes its own
        return {
            "module": "builtins",
            "class_name": kind,
            "config": name,
            "registered_name": kind,
        }
    return {
        "module": "keras" if ours else thing.__module__,
        "class_name": kind,
        # Keras looks the function up by this name only.
        "config": get_registered_name(thing) if kind == "function" else name,
        "registered_name": None if ours else get_registered_name(thing),
    }


# Stored beside `class_name`, where Keras ignores it: the version whose rules a layer follows.
RULES = "rules_of_keras"
# The class name of an argument that is the mask of a tensor (None if it has none). Keras 2 passes
# masks implicitly, so that only its configurations, converted, contain them.
MASK = "__keras_mask__"


def deserialize_keras_object(
    config: Any,
    custom_objects: Mapping[str, Any] | None = None,
    safe_mode: bool = True,
    module_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """The object that was given to `serialize_keras_object`.

    Args:
        config: its result. No code is run from it: classes are found by name, among those of this
            library, the registered ones and `custom_objects`.
        custom_objects: further classes and functions by name.
        safe_mode: accepted for Keras' sake: code in a configuration is run in neither mode.
        module_objects: further classes and functions by name, looked up last. A plain name yields
            the function, or a new object of the class; an unknown name is returned unchanged.
        printable_module_name: accepted for the sake of Keras 2.

    Raises:
        ValueError: a name is unknown, or the configuration holds code.
    """
    del printable_module_name
    if module_objects is not None:
        custom_objects = {**module_objects, **(custom_objects or {})}
        if isinstance(config, str):
            found = custom_objects.get(config, config)
            return found() if inspect.isclass(found) else found
    if isinstance(config, list):
        return [deserialize_keras_object(x, custom_objects, safe_mode) for x in config]
    if not isinstance(config, dict):
        return config
    if "class_name" not in config or not ({"config", "items"} & set(config)):
        return {
            k: deserialize_keras_object(v, custom_objects, safe_mode) for k, v in config.items()
        }
    if not isinstance(config["class_name"], str):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            f"deserialize_keras_object: names must be texts, got {config['class_name']!r:.80}"
        )
    if config["class_name"] in _PLAIN:
        return _plain_value(config, custom_objects)
    found = find_class(config, custom_objects)
    if config["class_name"] in {"function", "class"}:
        return found
    return _shared_or_made(found, config, custom_objects)


def _shared_or_made(found: Any, config: dict[str, Any], custom_objects: Any) -> Any:
    """The object for a configuration: the one already created for its number, or a new one."""
    with restoring.reading() as reading:
        number = config.get("shared_object_id")
        if number is not None and number in reading.shared:
            return reading.shared[number]
        with custom_object_scope(custom_objects or {}):
            made = _made(found, config)
            names = {type(made).__name__, getattr(type(made), "_shown_as", None)}
            if getattr(made, "_is_layer", False) and config["class_name"] not in names:
                # The file stores its weights under the name of the replaced class.
                vars(made)["_read_as"] = config["class_name"]
            if config.get(RULES) == 2 and hasattr(made, "_rules_of_keras"):
                made._rules_of_keras = 2
            reading.later(made, config.get("build_config"), config.get("compile_config"))
            if number is not None:
                reading.shared[number] = made
    return made


def _made(found: Any, config: dict[str, Any]) -> Any:
    inner = config["config"]
    if not isinstance(inner, dict):
        raise MalformedConfigError(
            "deserialize_keras_object: Expected 'config' to be a dict, for "
            f"{config['class_name']}, got {inner!r:.80}"
        )
    if found.__module__.startswith("pinnace.keras."):
        inner = _accepted(found, inner)
    if config.get(RULES) == 2 and inner.get("trainable") is False and "layers" in inner:
        # Keras 2 freezes the model only: the layers keep their own flag, which determines the order
        # of weights.
        made = found.from_config({**inner, "trainable": True})
        made._weight_store.train(False)
        return made
    return found.from_config(inner)


def _accepted(cls: type, config: dict[str, Any]) -> dict[str, Any]:
    """The configuration without arguments that only Keras' own class has, at their defaults."""
    known = _argument_names(cls)
    if known is None:
        return config
    return {
        key: value
        for key, value in config.items()
        if key in known or not (key in _MEANINGLESS or value is None or value is False)
    }


@functools.lru_cache(maxsize=1024)
def _argument_names(cls: type) -> frozenset[str] | None:
    """The parameter names of the constructors of a class and its bases; None for any name."""
    if hasattr(cls, "keras_class") or hasattr(cls, "_topology"):
        return None
    names: set[str] = set()
    for base in cls.__mro__:
        if "__init__" not in base.__dict__ or base is object:
            continue
        parameters = inspect.signature(base.__dict__["__init__"]).parameters.values()
        names.update(p.name for p in parameters)
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return frozenset(names)


_PLAIN = frozenset(
    [
        *("__tuple__", "__numpy__", "__tensor__", "__typespec__", "__slice__", "__ellipsis__"),
        *("__bytes__", "__lambda__"),
    ]
)


def _plain_value(config: dict[str, Any], custom: Mapping[str, Any] | None) -> Any:
    kind = config["class_name"]
    if kind == "__lambda__":
        raise UnknownNameError(
            "deserialize_keras_object: a lambda was stored as bytecode, which is never run\n"
            "  Try: a function of its own with @register_keras_serializable(), where it was saved"
        )
    if kind == "__tuple__":
        return tuple(deserialize_keras_object(x, custom) for x in config["items"])
    inner = config["config"]
    if kind == "__slice__":
        if isinstance(inner, dict):
            inner = [inner.get(name) for name in ("start", "stop", "step")]
        return slice(*deserialize_keras_object(inner, custom))
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__bytes__":
        return inner["value"].encode()
    if kind == "__typespec__":
        if not isinstance(inner, dict):
            raise MalformedConfigError(
                "deserialize_keras_object: Expected 'config' to be a list or a tuple or a dict of "
                f"shape and dtype, got {inner!r:.80}"
            )
        return TensorSpec(inner["shape"], inner["dtype"], inner.get("name"))
    array = np.array(inner["value"], as_dtype(inner["dtype"]).numpy)
    if kind == "__numpy__":
        return array
    from pinnace.framework.convert import convert_to_tensor

    return convert_to_tensor(array)


def find_class(config: Mapping[str, Any], custom: Mapping[str, Any] | None = None) -> Any:
    """The class or function that a configuration names.

    Raises:
        ValueError: the name is unknown, or a built-in class is given a registered name.
    """
    kind = config["class_name"]
    named = config["config"] if kind in {"function", "class"} else kind
    registered = config.get("registered_name")
    module = config.get("module") or ""
    if not all(isinstance(name, str) for name in (named, registered or "", module)):
        raise MalformedConfigError(
            "deserialize_keras_object: Expected 'config' to be a non-null str, and names to be "
            f"texts, got {config!r:.200}"
        )
    for name in (registered, named):
        found = get_registered_object(name, custom) if name else None
        if found is not None:
            return found
    found = own_object(module, named, is_function=kind == "function")
    if found is not None and module and registered not in {None, "", kind, named}:
        raise UnknownNameError(
            f"deserialize_keras_object: registered_name={registered!r} was not registered, and "
            f"{named!r} of {module!r} resolved to a Keras built-in, which has no such name\n"
            "  Try: custom_objects={...}, or a configuration without registered_name"
        )
    if not module and kind not in {"function", "class"} and "trainable" not in config["config"]:
        # Older files do not name modules. Layers have `trainable` in their configuration,
        # operations do not; losses and initializers with an operation's name are older.
        called = _operation("", named)
        if called is not None and (found is None or getattr(found, "_is_layer", False)):
            return called
    if found is None:
        # Files of Keras up to 3.6 name a registered function without its package.
        found = next((x for key, x in _registered.items() if key.endswith(f">{named}")), None)
    if found is None:
        found = _told_object(registered, named)
    if found is None:
        raise UnknownNameError(missing_class(module, named))
    return found


def _told_object(registered: str | None, named: str) -> Any:
    """An object registered or defined by modules of `--import`; None if there is none."""
    modules = own_modules.import_told()
    for name in (registered, named) if modules else ():
        found = get_registered_object(name) if name else None
        if found is not None:
            return found
    return own_modules.found_in(modules, named)


def _operation(module: str, named: str) -> Any:
    importlib.import_module("pinnace.keras.ops")
    operations = importlib.import_module("pinnace.keras.ops.operation")
    return operations.operation_class(module, named)


def own_object(module: str, named: str, *, is_function: bool) -> Any:
    """This library's object for a name stored by Keras; None if there is none."""
    if module.startswith("keras.src.ops."):
        return _operation(module, named)
    named = _SHOWN_AS.get(named, named)
    for table in () if is_function else (_HIDDEN, _LATE):
        if named in table and _is_of(module, table[named][0]):
            return getattr(importlib.import_module(table[named][1]), named)
    places = [module] if module in _PUBLIC else []
    if not module or module.split(".")[0] in {"keras", "tf_keras", "builtins"}:
        places += _PUBLIC
    for place in _FUNCTIONS if is_function else places:
        found = getattr(importlib.import_module(f"pinnace.{place}"), named, None)
        if is_function:
            if inspect.isfunction(found) and named not in _NOT_NAMED:
                return found
        elif inspect.isclass(found) and hasattr(found, "from_config"):
            return found
    return None


def _is_of(module: str, known: str) -> bool:
    """Whether a module that a file names is Keras' module; older files name none."""
    root, _, rest = module.partition(".")
    return root in {"", "keras", "tf_keras"} and known.endswith(rest)


def by_name(
    what: str, identifier: Any, table: Mapping[str, Any], *, none: Any = None, make: bool = True
) -> Any:
    """The common implementation of the `get` functions of losses, metrics, initializers, ….

    Args:
        what: for the message, "loss".
        identifier: a name, a configuration, a class, an object or None.
        table: name -> class or function.
        none: the answer for None.
        make: whether a class is replaced by an object of it.

    Raises:
        ValueError: a name that is not in the table.
    """
    if identifier is None:
        return none
    if isinstance(identifier, dict):
        return deserialize_keras_object(identifier)
    found = identifier
    if isinstance(identifier, str):
        found = get_registered_object(identifier, None, table)
        if found is None:
            raise ValueError(_not_in(what, identifier, table))
    if inspect.isclass(found) and make:
        return found()
    if callable(found) or hasattr(found, "get_config"):
        return found
    raise ValueError(f"{what}: must be a name, a function or an object, got {identifier!r}")


def _not_in(what: str, name: str, table: Mapping[str, Any]) -> str:
    """The error for an unknown name, with the closest known one."""
    known = {str(key) for key in table}
    told = f"{what}: name must be one of {', '.join(sorted(known))}, got {name!r}"
    return told + did_you_mean(name, known)


def named(*classes: type, **aliases: Any) -> dict[str, Any]:
    """Classes by their names and snake-case names, and aliases."""
    from pinnace.keras.names import class_name_in_snake_case

    table: dict[str, Any] = {}
    for cls in classes:
        table[cls.__name__] = cls
        table[class_name_in_snake_case(cls.__name__)] = cls
    return {**table, **aliases}
