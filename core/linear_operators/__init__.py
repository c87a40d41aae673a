"""Linear operators: matrices known by what they do, not by their entries.

`operator.LinearOperator` has the public methods, with answers from the dense matrix; a class of a
file here overrides what its structure makes cheaper. `specs` takes operators apart for functions
and SavedModels, `hints` and `batches` are what they share. Names in `pinnace.linalg`.
"""
