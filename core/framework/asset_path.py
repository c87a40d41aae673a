"""Trusted paths: files that ops with a path as input may read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pinnace.framework.dtypes import as_dtype, string
from pinnace.framework.tensor import Tensor, wrap
from pinnace.framework.trackable import Trackable


class AssetPath(bytes):
    """A path that came from the program, or from a model's folder of assets.

    Ops that read a file without `allow_io` take only this type: a constant in a SavedModel is a
    plain string, so that a model cannot name a file outside itself. Values computed from an asset
    path are plain strings again.
    """

    __slots__ = ()


class AssetFolder(bytes):
    """The folder of an asset, as the asset's path without its name.

    Ops that read models of several files take it: they look there for files with known names.
    """

    __slots__ = ()


def with_folder_kept(path: bytes, made: bytes) -> bytes:
    """A string computed from a path, which stays trusted if it is the folder of an asset.

    Args:
        path: perhaps an asset's.
        made: computed from it.
    """
    if isinstance(path, AssetPath) and made == path[: path.rfind(b"/") + 1] and made:
        return AssetFolder(made)
    return made


class Asset(Trackable):
    """A file that a model needs; its path is a tensor, so that functions can read it.

    Args:
        path: the file. After loading, the copy in the model's folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        array = np.empty((), object)
        array[()] = AssetPath(os.fsencode(self._path))
        self._tensor = wrap(array)

    @property
    def asset_path(self) -> Tensor:
        """The path, a string scalar."""
        return self._tensor

    @property
    def path(self) -> str:
        """The path."""
        return self._path

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        """The path as an argument of an op."""
        del name
        if dtype is not None and as_dtype(dtype) is not string:
            raise TypeError(f"an Asset is a tensor of strings, not of {as_dtype(dtype).name}")
        return self._tensor

    def __fspath__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"<Asset {self._path!r}>"
