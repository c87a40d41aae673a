"""The command that installs an optional extra: it depends on how the package was installed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_NAME = "pinnace"


def install_command(extra: str) -> str:
    """The command that installs an extra into the environment that runs.

    For an install from a checkout, a file or a URL the command names that source: a package index
    may not have it.

    Args:
        extra: an extra of pyproject.toml, such as `onnx`.

    Returns:
        `pip install 'pinnace[onnx]'`, or the equivalent for uv, pipx or conda, with the source that
        the package was installed from.
    """
    from importlib import metadata  # seldom needed, and slow to import

    try:
        installed = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:
        return f"pip install '{_NAME}[{extra}]'"
    by = (installed.read_text("INSTALLER") or "").strip()
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return f"pipx inject {_NAME} {_libraries(installed, extra)}"
    if by == "conda":  # conda packages have no extras
        return f"pip install {_libraries(installed, extra)}"
    source = _source(_origin(installed), extra)
    if (Path(sys.prefix) / "uv-receipt.toml").is_file():
        return f"uv tool install {source}"
    return f"{'uv pip' if by == 'uv' else 'pip'} install {source}"


def _origin(installed: Distribution) -> dict[str, Any]:
    """The source of the installation, as PEP 610 records it; empty for a package index."""
    try:
        told = json.loads(installed.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) and isinstance(told.get("url"), str) else {}


def _source(origin: dict[str, Any], extra: str) -> str:
    """The package with the extra, as a shell argument of pip."""
    url = origin.get("url", "")
    named = f"{_NAME}[{extra}]"
    address = urlparse(url)
    if address.scheme == "file":
        from urllib.request import url2pathname

        path = url2pathname(address.path)
        if path.endswith((".whl", ".gz", ".zip")) and not Path(path).exists():
            return f"'{named}'"  # a file that was downloaded, and is gone
        folder = origin.get("dir_info")
        editable = isinstance(folder, dict) and folder.get("editable") is True
        return f"{'-e ' if editable else ''}'{path}[{extra}]'"
    version_control = origin.get("vcs_info")
    if isinstance(version_control, dict) and url:
        revision = version_control.get("requested_revision")
        at = f"@{revision}" if revision else ""
        return f"'{named} @ {version_control.get('vcs', 'git')}+{url}{at}'"
    if address.scheme in {"http", "https"}:
        return f"'{named} @ {url}'"
    return f"'{named}'"


def _libraries(installed: Distribution, extra: str) -> str:
    """The requirements of the extra: `'onnx>=1.17' 'onnxruntime>=1.20'`."""
    condition = re.compile(rf"extra\s*==\s*[\"']{re.escape(extra)}[\"']")
    found = [
        line.partition(";")[0].strip()
        for line in installed.requires or ()
        if condition.search(line.partition(";")[2])
    ]
    return " ".join(f"'{one}'" for one in found) or f"'{_NAME}[{extra}]'"
