"""Kernels compiled ahead of time, in one library per processor, for the installation or a model.

`writing` compiles and links them, with `codegen.objects` and a linker: `installing` the general
kernels, `pinnace compile` those of a model; `reading` loads them where there is neither Numba nor a
compiler. `table` is the libraries' table of contents, `calling` wraps a kernel as a Python
function. `processors` selects the library for a machine, `trust` decides whether its code may run.
"""
