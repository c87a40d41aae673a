"""Linear operators: matrices represented by their action instead of their entries.

`operator.LinearOperator` has the public methods, implemented with the dense matrix; the classes in
other files override what their structure makes cheaper. `specs` decomposes operators for functions
and SavedModels, `hints` and `batches` are shared. The public names are in `pinnace.linalg`.
"""
