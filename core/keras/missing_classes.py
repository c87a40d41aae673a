"""Error messages about classes that a file names and that are missing here."""

from __future__ import annotations

# Package names that are no package one could install.
_NO_PACKAGE = {"", "__main__", "builtins", "Custom"}


def missing_class(module: str, named: str) -> str:
    """The error message, with a remedy.

    Args:
        module: the module that the file names; empty if it names none.
        named: the class or function, maybe with the package it is registered under.
    """
    whole = f"{module}.{named}" if module else named
    package = module.split(".")[0] or named.rpartition(">")[0]
    if package in {"keras", "tf_keras"}:
        return (
            f"pinnace has no {named}: {whole} is a class of Keras that is missing here\n"
            f"  Try: a class of your own that does the same, as custom_objects={{{named!r}: ...}}"
        )
    place = "it is defined" if package in _NO_PACKAGE else f"{package} is installed"
    return (
        f"deserialize_keras_object: {whole} is not known\n"
        f"  Try: custom_objects={{{named!r}: ...}}, or @register_keras_serializable() on it\n"
        "  Try: --import MODULE, where a command reads the file: the module that defines it\n"
        f"  Try: model.export(FOLDER) of TensorFlow's Keras, where {place}: a SavedModel holds "
        "what its classes compute, and runs here without them"
    )
