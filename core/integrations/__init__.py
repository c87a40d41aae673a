"""Models of this library in other engines: `ray`, `spark`, `beam`.

Each is a separate module that needs the engine of its name; none is a dependency.
"""
