"""The command that installs an optional extra: it depends on how the package was installed."""

from __future__ import annotations

import json
from urllib.parse import unquote, urlparse


def install_command(extra: str) -> str:
    """The command that installs an extra.

    From a checkout it names the checkout: nobody has to know whether an index has the package.

    Args:
        extra: of pyproject.toml, `onnx`.

    Returns:
        `pip install 'pinnace[onnx]'`, or with the folder that the package was installed from.
    """
    from importlib import metadata  # seldom needed, and slow to import

    source = "pinnace"
    try:
        told = metadata.distribution("pinnace").read_text("direct_url.json")
        address = urlparse(json.loads(told)["url"]) if told else None
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError):
        address = None
    if address is not None and address.scheme == "file" and not address.path.endswith(".whl"):
        source = unquote(address.path)
    return f"pip install '{source}[{extra}]'"
