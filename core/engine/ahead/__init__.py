"""Kernels compiled ahead of time, in one library per processor: the installation's, and a model's.

`writing` has them made, by `codegen.objects` and a linker: `installing` those that all programs
share, `pinnace compile` those beside a model; `reading` finds
them again where neither Numba nor a compiler is. `table` is what lies beside the libraries,
`calling` a kernel as a Python function. `processors` says which library fits a machine, `trust`
whether its bytes are to be run at all.
"""
