"""Assets: files that a model needs, copied into its folder when it is saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.asset_path import Asset as Asset
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, PermissionDeniedError
from pinnace.proto.saved_model_pb2 import AssetFileDef
from pinnace.saved_model.layout import ASSETS_FOLDER, asset_path
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinnace.proto.saved_model_pb2 import MetaGraphDef

# The collection of asset files in TensorFlow 1.
_COLLECTION = "saved_model_assets"


def name_assets(assets: Iterable[Asset]) -> dict[int, str]:
    """Return the file name of each asset in the folder, by its id: its own name if it is free.

    Raises:
        NotFoundError: a file is missing.
    """
    names: dict[int, str] = {}
    owners: dict[str, str] = {}
    for asset in assets:
        source = Path(asset.path)
        if not source.is_file():
            raise NotFoundError(f"save: asset {asset.path} is not a file")
        same = os.path.realpath(source)
        name = source.name
        if owners.get(name, same) != same:
            import hashlib  # brings OpenSSL, three megabytes, which loading and exporting never use

            name = f"{hashlib.sha256(same.encode()).hexdigest()[:8]}_{name}"
        owners[name] = same
        names[id(asset)] = name
    return names


def copy_assets(folder: Path, assets: Iterable[Asset], names: Mapping[int, str]) -> None:
    """Put the files into the folder of assets."""
    import shutil  # brings all formats of archives, which loading never uses

    for asset in assets:
        target = asset_path(folder, names[id(asset)])
        with explained("copy asset", asset.path):
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(asset.path, target)


def named_assets(meta: MetaGraphDef) -> Sequence[AssetFileDef]:
    """The asset files that a graph lists, in its own field or, in version 1, in a collection."""
    if meta.asset_file_def or _COLLECTION not in meta.collection_def:
        return meta.asset_file_def
    values = meta.collection_def[_COLLECTION].any_list.value
    return [AssetFileDef.FromString(one.value) for one in values]


def resolve_asset(folder: Path, name: str, where: str, *, allow_links: bool = False) -> Asset:
    """The asset of that name in a loaded model.

    Args:
        folder: the model.
        name: its name below the folder of assets.
        where: the file that names it, for errors.
        allow_links: whether a link may lead out of the folder.

    Raises:
        InvalidArgumentError: the name leads out of the folder.
        PermissionDeniedError: a link leads out, and `allow_links` is False.
    """
    inner = Path(name)
    if not name or inner.is_absolute() or ".." in inner.parts or "\0" in name:
        raise InvalidArgumentError(f"{where}: asset {name!r} is not in {ASSETS_FOLDER}/")
    path = asset_path(folder, name).absolute()
    real = Path(os.path.realpath(path))
    if not allow_links and not real.is_relative_to(os.path.realpath(folder)):
        raise PermissionDeniedError(
            f"{where}: asset {name!r} is a link to {str(real)!r}, outside the model's folder\n"
            "  Try: copy the model with `cp -rL`, so that its files are its own, or\n"
            "  load(path, options=LoadOptions(allow_io=True)), if you trust it"
        )
    return Asset(path)
