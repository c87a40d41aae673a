"""Ops on the parts of sparse and ragged tensors, sets among them."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "works on the parts of a sparse tensor, whose number ONNX's dense tensors cannot follow",
    "SparseAdd",
    "SparseAddGrad",
    "SparseConcat",
    "SparseCountSparseOutput",
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
    "RaggedCountSparseOutput",
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
refuses(
    "joins or hashes text, or packs tensors into bytes, which ONNX does not",
    "DeserializeManySparse",
    "DeserializeSparse",
    "SerializeManySparse",
    "SerializeSparse",
    "SparseCross",
    "SparseCrossHashed",
    "SparseCrossV2",
)
refuses(
    "gives as many counts as there are different values, which are sparse: ONNX has dense tensors",
    "DenseCountSparseOutput",
)
