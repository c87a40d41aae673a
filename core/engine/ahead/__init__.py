"""Kernels compiled ahead of time, in one library per processor beside a model.

`writing` has them made (`pinnace compile`), by `codegen.objects` and a C compiler; `reading` finds
them again where neither Numba nor a compiler is. `table` is what lies beside the libraries,
`interface` the C code around the kernels, `calling` a kernel as a Python function. `processors`
says which library fits a machine, `trust` whether its bytes are to be run at all.
"""
