"""URLs of models without credentials, for logs, statuses and metrics."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+(?:::|://)")
_USER = re.compile(r"(?<=//)[^/?#\s]*@")
_QUERY = re.compile(r"\?.*", re.DOTALL)
_HIDDEN = "…"
# Names of variables whose values are hidden; values of fewer letters might be ordinary words.
_SECRET = re.compile(r"SECRET|TOKEN|PASSW|CREDENTIAL|SAS|_KEY\b", re.IGNORECASE)
_SHORTEST = 8
_SHORTEST_VALUE = 4  # of a query parameter, in letters


def public_url(url: str) -> str:
    """A URL without user, password and query; a local path unchanged."""
    if _URL.match(url) is None:
        return url
    return _QUERY.sub(f"?{_HIDDEN}", _USER.sub(f"{_HIDDEN}@", url))


def public_text(text: str, url: str) -> str:
    """A library's message about a URL, without secrets from the URL or the environment.

    Args:
        text: the message of an error.
        url: the URL that was requested.
    """
    secrets = set()
    for user in _USER.findall(url):
        secrets |= {user[:-1], user[:-1].partition(":")[2]}
    query = url.partition("?")[2]
    secrets.add(query)
    secrets |= {value for _, value in parse_qsl(query) if len(value) >= _SHORTEST_VALUE}
    secrets |= {unquote(one) for one in secrets}
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and _SECRET.search(name):
            secrets.add(value)
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return _USER.sub(f"{_HIDDEN}@", text)
