"""Config: named values as attributes and as a dict, which can be frozen."""

from __future__ import annotations

import copy
import difflib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView


class Config:
    """Named values: `config.name` and `config["name"]` are the same.

    Args:
        **kwargs: the first values.

    Raises:
        ValueError: when a value is set or deleted while it is frozen.
        AttributeError: when there is no value of a name.
    """

    _config: dict[str, Any]
    _frozen: bool

    def __init__(self, **kwargs: Any) -> None:
        vars(self).update(_config=kwargs, _frozen=False)

    @property
    def frozen(self) -> bool:
        """Whether values cannot be changed."""
        return self._frozen

    def freeze(self) -> None:
        """Refuse changes from now on."""
        vars(self)["_frozen"] = True

    def unfreeze(self) -> None:
        """Allow changes again."""
        vars(self)["_frozen"] = False

    def _writable(self) -> dict[str, Any]:
        if self._frozen:
            raise ValueError(
                "Config: Cannot mutate attribute(s) because the config is frozen.\n"
                "  Try: unfreeze()"
            )
        return self._config

    def as_dict(self) -> dict[str, Any]:
        """The values as a new dict."""
        return copy.copy(self._config)

    def to_json(self) -> str:
        """The values as JSON."""
        return json.dumps(self._config)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._config.keys()

    def values(self) -> ValuesView[Any]:
        """The values."""
        return self._config.values()

    def items(self) -> ItemsView[str, Any]:
        """The pairs of names and values."""
        return self._config.items()

    def pop(self, *args: Any) -> Any:
        """Remove a value and return it.

        Args:
            *args: its name, and the result if there is none.
        """
        return self._writable().pop(*args)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set values.

        Args:
            *args: a dict.
            **kwargs: further values.
        """
        self._writable().update(*args, **kwargs)

    def get(self, keyname: str, value: Any = None) -> Any:
        """The value of a name.

        Args:
            keyname: the name.
            value: the result if there is none.
        """
        return self._config.get(keyname, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            self._writable()[name] = value

    def __getattr__(self, name: str) -> Any:
        # Copying looks for methods before there are values.
        values = vars(self).get("_config", {})
        if name in values:
            return values[name]
        close = difflib.get_close_matches(name, values, n=1, cutoff=0.7)
        advice = f" Did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"Unknown attribute: {name!r}.{advice}")

    def __setitem__(self, key: str, item: Any) -> None:
        self._writable()[key] = item

    def __getitem__(self, key: str) -> Any:
        return self._config[key]

    def __delitem__(self, key: str) -> None:
        del self._writable()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._config))

    def __len__(self) -> int:
        return len(self._config)

    def __contains__(self, item: object) -> bool:
        return item in self._config

    def __repr__(self) -> str:
        return f"<Config {self._config}>"
