"""The library of the general kernels, made when pinnace is built, for each processor family.

`installing` builds it from the kernels' `sources`: `writing` compiles them, with `codegen.objects`,
and links them. `reading` loads the one for this machine, which requires neither Numba, nor a
compiler, nor the sources. `table` is its table of contents, `processors` has the families,
`calling` wraps a kernel as a Python function.
"""
