"""Assets: files that a model needs, copied into its folder when it is saved."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.asset_path import Asset as Asset
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.saved_model.layout import ASSETS_FOLDER, asset_path
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def name_assets(assets: Iterable[Asset]) -> dict[int, str]:
    """The file name of each asset in the folder, by its id; its own name, if that is free.

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
    for asset in assets:
        target = asset_path(folder, names[id(asset)])
        with explained("copy asset", asset.path):
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(asset.path, target)


def resolve_asset(folder: Path, name: str, where: str) -> Asset:
    """The asset of that name in a loaded model.

    Raises:
        InvalidArgumentError: the name leads out of the folder.
    """
    inner = Path(name)
    if not name or inner.is_absolute() or ".." in inner.parts or "\0" in name:
        raise InvalidArgumentError(f"{where}: asset {name!r} is not in {ASSETS_FOLDER}/")
    return Asset(asset_path(folder, name).absolute())
