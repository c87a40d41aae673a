"""Programs of TensorFlow 1 as programs of TensorFlow 2.

What changed between the names of the two stands in `facts.json` (`facts.py` reads it), and what is
said about it in `advice.toml` (`findings.py`). A source is read (`sources.py`, `notebooks.py`), its
imports say which names are TensorFlow's (`naming.py`), its imports and names are rewritten
(`imports.py`, `rewriting.py`), and so are the arguments of its calls (`arguments.py`; the functions
that need more, `ways.py` and `initializers.py`). `files.py` goes through files and trees, and
`reports.py` says what was done and what is left to a person.
"""

from pinnace.framework.extras import install_command

try:
    import libcst as _libcst  # noqa: F401 (asked for before all that needs it)
except ImportError as _error:
    raise ModuleNotFoundError(
        f"upgrade: rewriting programs needs the package libcst\n"
        f"  Try: {install_command('upgrade')}",
        name="libcst",
    ) from _error

from pinnace.deploy.upgrade.files import upgrade_file as upgrade_file
from pinnace.deploy.upgrade.files import upgrade_tree as upgrade_tree
from pinnace.deploy.upgrade.findings import Finding as Finding
from pinnace.deploy.upgrade.findings import Level as Level
from pinnace.deploy.upgrade.options import Options as Options
from pinnace.deploy.upgrade.program import upgrade_program as upgrade_program
