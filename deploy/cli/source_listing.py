"""Listings of source files as HTML pages, with line numbers and an anchor per line.

A built site has the listings that its pages link to. Its copy in a wheel has none, since the files
themselves are installed: `pinnace docs` makes a listing on request.
"""

from __future__ import annotations

import functools
import html
import os
from importlib import resources
from pathlib import Path

FOLDER = "source"  # in the site, beside `api`
_SUFFIX = ".html"
_LISTED = {".proto", ".py"}
# Folders of the repository -> packages.
_PACKAGES = {
    "core": "pinnace",
    "deploy": "pinnace.deploy",
    "proto": "pinnace.proto",
    "saved_model": "pinnace.saved_model",
    "serving": "pinnace.serving",
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path}</title>
<style>
body {{ margin: 0 auto; max-width: 60rem; padding: 1rem; font-family: sans-serif; }}
pre {{ font-size: .8rem; line-height: 1.45; overflow-x: auto; }}
.linenos {{ color: #888 !important; padding-right: 1em; user-select: none; }}
pre > span:target {{ background: #fff3b0; display: block; scroll-margin-top: 4rem; }}
{light}
@media (prefers-color-scheme: dark) {{
body {{ background: #1e2129; color: #ddd; }}
a {{ color: #8ab4f8; }}
pre > span:target {{ background: #4a4420; }}
{dark}
}}
</style>
</head>
<body>
<p><a href="{up}api/index.html">Names</a></p>
<h1>{path}</h1>
{code}
</body>
</html>
"""


def listing(path: str, text: str) -> str:
    """The page of a file.

    Args:
        path: the file's path in the repository.
        text: its content.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_for_filename

    formatter = HtmlFormatter(linenos="inline", linespans="L")
    code = highlight(text, get_lexer_for_filename(path), formatter)
    up = os.path.relpath(".", Path(FOLDER, path).parent) + "/"
    return _PAGE.format(
        path=html.escape(path), up=up, code=code, light=_style("default"), dark=_style("monokai")
    )


@functools.cache
def _style(name: str) -> str:
    from pygments.formatters import HtmlFormatter

    rules = HtmlFormatter(style=name).get_style_defs("pre").splitlines()
    return "\n".join(rule for rule in rules if "background" not in rule)


def installed_listing(name: str) -> bytes | None:
    """The listing of a file of this package; None if `name` is not that of a listing.

    Args:
        name: the page's name in the site, such as `source/core/keras/layer.py.html`.
    """
    if not name.startswith(f"{FOLDER}/") or not name.endswith(_SUFFIX):
        return None
    path = name[len(FOLDER) + 1 : -len(_SUFFIX)]
    top, *parts = path.split("/")
    if top not in _PACKAGES or Path(path).suffix not in _LISTED:
        return None
    # A name with `..` or a drive would lead out of the package.
    if not parts or any(part in {"", ".", ".."} or set(part) & set("\\:\0") for part in parts):
        return None
    file = resources.files(_PACKAGES[top]).joinpath(*parts)
    return listing(path, file.read_text("utf-8")).encode() if file.is_file() else None
