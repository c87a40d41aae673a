"""Models of this library in other engines: `ray`, `spark`, `beam`.

Each is a module of its own, which needs the engine of its name; none is a dependency.
"""
