"""Ops on the parts of sparse and ragged tensors, sets among them."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "works on the parts of a sparse tensor, whose number ONNX's dense tensors cannot follow",
    "SparseAdd",
    "SparseAddGrad",
    "SparseConcat",
    "SparseFillEmptyRowsGrad",
    "SparseReduceMax",
    "SparseReduceMaxSparse",
    "SparseReduceSumSparse",
    "SparseSlice",
    "SparseSliceGrad",
    "SparseSoftmax",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    "SparseSplit",
)
refuses(
    "works on sets, which ONNX has not",
    "DenseToDenseSetOperation",
    "DenseToSparseSetOperation",
    "SetSize",
    "SparseToSparseSetOperation",
)
refuses(
    "works on rows of different length, which ONNX has not",
    "RaggedCross",
    "RaggedGather",
    "RaggedRange",
    "RaggedTensorFromVariant",
    "RaggedTensorToSparse",
    "RaggedTensorToVariant",
    "RaggedTensorToVariantGradient",
)
refuses(
    "compares sequences of any length entry by entry, and is a measure of a model, not a part of "
    "one; compute it outside",
    "EditDistance",
)
