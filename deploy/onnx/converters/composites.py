"""Ops on the parts of sparse and ragged tensors, sets among them."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "works on the parts of a sparse tensor, whose number ONNX's dense tensors cannot follow",
    "SparseAdd",
    "SparseAddGrad",
    "SparseConcat",
    "SparseDenseCwiseAdd",
    "SparseDenseCwiseDiv",
    "SparseDenseCwiseMul",
    "SparseFillEmptyRows",
    "SparseFillEmptyRowsGrad",
    "SparseReduceMax",
    "SparseReduceMaxSparse",
    "SparseReduceSum",
    "SparseReduceSumSparse",
    "SparseReorder",
    "SparseReshape",
    "SparseSlice",
    "SparseSliceGrad",
    "SparseSoftmax",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    "SparseSplit",
    "SparseTensorDenseAdd",
    "SparseTensorDenseMatMul",
    "SparseToDense",
)
refuses(
    "reduces groups of rows, whose number depends on values; ONNX has no such reduction",
    "SparseSegmentMean",
    "SparseSegmentMeanGrad",
    "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtN",
    "SparseSegmentSqrtNGrad",
    "SparseSegmentSqrtNWithNumSegments",
    "SparseSegmentSum",
    "SparseSegmentSumGrad",
    "SparseSegmentSumWithNumSegments",
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
    "RaggedTensorToTensor",
    "RaggedTensorToVariant",
    "RaggedTensorToVariantGradient",
)
