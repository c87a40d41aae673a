"""Migration of programs from TensorFlow 1 to TensorFlow 2.

The differences between the names of the two versions are in `facts.json` (`facts.py` reads it), the
advice about them in `advice.toml` (`findings.py`). A source is read (`sources.py`, `notebooks.py`);
its imports determine which names are TensorFlow's (`naming.py`); imports and names are rewritten
(`imports.py`, `rewriting.py`), then the arguments of calls (`arguments.py`; `ways.py` and
`initializers.py` for functions that need more). `files.py` handles files and trees, and
`reports.py` reports what was done and what is left to the user.
"""

from pinnace.framework.extras import install_command

try:
    import libcst as _libcst  # noqa: F401 (imported first, for a clear error)
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
