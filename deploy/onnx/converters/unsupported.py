"""Ops without a counterpart in ONNX, or without a converter yet, and the reasons."""

# Reason -> ops.
_REASONS = {
    "asks for the script of a letter, which ONNX has no table of": "UnicodeScript",
    "assigns a variable; an ONNX model has no state": """
        ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyKerasMomentum
        ResourceScatterDiv ResourceScatterMul ResourceStridedSliceAssign
    """,
    "calls back into Python": "EagerPyFunc PyFunc PyFuncStateless",
    "changes a variable by an optimizer's rule; an ONNX model has no state": """
        ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA
        ResourceApplyAdagradV2 ResourceApplyAdamWithAmsgrad ResourceApplyAddSign
        ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyMomentum
        ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent
        ResourceApplyRMSProp ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad
        ResourceSparseApplyAdagradDA ResourceSparseApplyAdagradV2
        ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2
        ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum
        ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent
        ResourceSparseApplyRMSProp
    """,
    (
        "compares sequences of any length entry by entry, and is a measure of a model, not a part"
        " of one; compute it outside"
    ): """
        EditDistance
    """,
    "cuts at every letter of a set, and ONNX at one text": "StringSplit",
    "draws noise around a part of a picture, other noise in every run": """
        ExtractGlimpse ExtractGlimpseV2
    """,
    (
        "draws numbers again until they fit, from TensorFlow's Philox generator: a loop for which "
        "there is no converter"
    ): """
        StatelessParameterizedTruncatedNormal
    """,
    "draws a part of a picture to train on; a model that answers needs none": """
        SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 StatelessSampleDistortedBoundingBox
    """,
    (
        "draws classes to train on from TensorFlow's Philox generator; a model that answers needs"
        " none"
    ): """
        AllCandidateSampler ComputeAccidentalHits FixedUnigramCandidateSampler
        LearnedUnigramCandidateSampler LogUniformCandidateSampler
        ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler
    """,
    "draws from a dataset, which an ONNX model has not": """
        AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 AnonymousMemoryCache
        AnonymousRandomSeedGenerator AnonymousSeedGenerator AssertCardinalityDataset BatchDataset
        BatchDatasetV2 CacheDataset CacheDatasetV2 ConcatenateDataset DatasetCardinality
        DatasetToSingleElement DeleteIterator DeleteMemoryCache DeleteRandomSeedGenerator
        DeleteSeedGenerator DirectedInterleaveDataset DummyIterationCounter DummyMemoryCache
        DummySeedGenerator ExperimentalDatasetCardinality ExperimentalDirectedInterleaveDataset
        ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset
        ExperimentalIgnoreErrorsDataset ExperimentalMapAndBatchDataset ExperimentalMapDataset
        ExperimentalMatchingFilesDataset ExperimentalMaxIntraOpParallelismDataset
        ExperimentalNonSerializableDataset ExperimentalParallelInterleaveDataset
        ExperimentalPrivateThreadPoolDataset ExperimentalRandomDataset ExperimentalScanDataset
        ExperimentalSlidingWindowDataset ExperimentalTakeWhileDataset ExperimentalThreadPoolDataset
        ExperimentalThreadPoolHandle ExperimentalUnbatchDataset ExperimentalUniqueDataset
        FilterDataset FinalizeDataset FixedLengthRecordDataset FixedLengthRecordDatasetV2
        FlatMapDataset GeneratorDataset GetElementAtIndex GroupByReducerDataset GroupByWindowDataset
        IgnoreErrorsDataset InterleaveDataset Iterator IteratorGetNext IteratorGetNextAsOptional
        IteratorGetNextSync IteratorV2 LegacyParallelInterleaveDatasetV2 ListDataset MakeIterator
        MapAndBatchDataset MapDataset MatchingFilesDataset MaxIntraOpParallelismDataset ModelDataset
        NonSerializableDataset OneShotIterator OptimizeDataset OptimizeDatasetV2 OptionalFromValue
        OptionalGetValue OptionalHasValue OptionalNone OptionsDataset PaddedBatchDataset
        PaddedBatchDatasetV2 ParallelBatchDataset ParallelFilterDataset ParallelInterleaveDataset
        ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4
        ParallelMapDataset ParallelMapDatasetV2 PrefetchDataset PrivateThreadPoolDataset
        RandomDataset RandomDatasetV2 RangeDataset RebatchDatasetV2 ReduceDataset RepeatDataset
        RewriteDataset SamplingDataset ScanDataset ShardDataset ShuffleAndRepeatDataset
        ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset
        SlidingWindowDataset SparseTensorSliceDataset TFRecordDataset TFRecordDatasetV2 TakeDataset
        TakeWhileDataset TensorDataset TensorSliceDataset TextLineDataset ThreadPoolDataset
        ThreadPoolHandle UnbatchDataset UniqueDataset UnwrapDatasetVariant WindowDataset WindowOp
        WrapDatasetVariant ZipDataset
    """,
    (
        "draws other numbers in every run from the operating system or a state; an ONNX model has"
        " neither"
    ): """
        NonDeterministicInts ParameterizedTruncatedNormal RandomGamma RandomPoissonV2
        RngReadAndSkip RngSkip
        StatefulRandomBinomial StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform
        StatefulUniformFullInt StatefulUniformInt
    """,
    (
        "encrypts a number until it falls into a range: a loop over the bits of words of any "
        "width, for which there is no converter"
    ): """
        RandomIndexShuffle
    """,
    (
        "gives as many counts as there are different values, which are sparse: ONNX has dense "
        "tensors"
    ): """
        DenseCountSparseOutput
    """,
    "gives pieces of different count per string, where ONNX fills up to the longest": """
        StringNGrams UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode UnicodeTranscode
    """,
    "has a quantized dtype, whose range stands beside it; ONNX has integers alone": """
        Dequantize QuantizeV2 QuantizedConcat
    """,
    "has cells of random sizes, which ONNX's poolings have not": """
        FractionalAvgPool FractionalMaxPool
    """,
    "is a Bessel function, which ONNX has not, and for which there is no formula here": """
        BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1
    """,
    "is a gradient that adds up mirrored places; there is no converter for it yet": "MirrorPadGrad",
    "is a gradient, which an exported model does not compute": """
        FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient
        FakeQuantWithMinMaxVarsPerChannelGradient
    """,
    "is a special function that ONNX has not, and for which there is no formula here yet": """
        Betainc Igamma Igammac Ndtri NextAfter Polygamma Zeta
    """,
    "is a step of training: the gradient of a convolution for its weights": """
        Conv2DBackpropFilter Conv3DBackpropFilterV2
        DepthwiseConv2dNativeBackpropFilter
    """,
    "is a step of training: the gradient of a cropping": """
        CropAndResizeGradBoxes CropAndResizeGradImage
    """,
    "is a step of training: the gradient of a dilation": """
        Dilation2DBackpropFilter Dilation2DBackpropInput
    """,
    "is a step of training: the gradient of a normalisation": """
        FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 LRNGrad
    """,
    "is a step of training: the gradient of a pooling": """
        AvgPool3DGrad AvgPoolGrad FractionalAvgPoolGrad FractionalMaxPoolGrad MaxPool3DGrad
        MaxPool3DGradGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradGradWithArgmax
        MaxPoolGradWithArgmax
    """,
    "is a step of training: the gradient of a reduction": """
        SparseSegmentMeanGrad SparseSegmentMeanGradV2 SparseSegmentSqrtNGrad
        SparseSegmentSqrtNGradV2 SparseSegmentSumGrad SparseSegmentSumGradV2
    """,
    "is a step of training: the gradient of a resizing": """
        ResizeBicubicGrad ResizeBilinearGrad ResizeNearestNeighborGrad ScaleAndTranslateGrad
    """,
    "is a table of bits that grows with the number of points; give the model the points": """
        SobolSample
    """,
    "is an argument of a graph, which every export has already": "Placeholder",
    "is an initializer of the file": "Const",
    "is an input and an output more of the model; in a branch or a loop it cannot be": """
        AssignAddVariableOp AssignSubVariableOp AssignVariableOp ResourceScatterAdd
        ResourceScatterMax ResourceScatterMin ResourceScatterNdAdd ResourceScatterNdMax
        ResourceScatterNdMin ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub
        ResourceScatterUpdate
    """,
    "is an integral that ONNX has not, and for which there is no formula here": """
        Dawsn Expint FresnelCos FresnelSin Spence
    """,
    "is inlined before operators are written": """
        BatchFunction PartitionedCall StatefulPartitionedCall
    """,
    "is left out: ONNX cannot stop or print": "Assert Print PrintV2",
    "is made an op of lists of tensors before operators are written": """
        TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3
        TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3
    """,
    "is the way back through a recurrent cell, which an ONNX model does not go": """
        BlockLSTMGrad BlockLSTMGradV2 CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3
        GRUBlockCellGrad LSTMBlockCellGrad
    """,
    "joins or hashes text, or packs tensors into bytes, which ONNX does not": """
        DeserializeManySparse DeserializeSparse SerializeManySparse SerializeSparse SparseCross
        SparseCrossHashed SparseCrossV2
    """,
    "joins runs of values until none rise, as often as the values say: no ONNX operator does": """
        IsotonicRegression
    """,
    (
        "keeps trees behind a handle, which an ONNX model has not; ONNX's own trees are in "
        "ai.onnx.ml"
    ): """
        BoostedTreesCreateEnsemble BoostedTreesCreateQuantileStreamResource
        BoostedTreesDeserializeEnsemble BoostedTreesEnsembleResourceHandleOp
        BoostedTreesGetEnsembleStates BoostedTreesPredict
        BoostedTreesQuantileStreamResourceDeserialize
        BoostedTreesQuantileStreamResourceGetBucketBoundaries
        BoostedTreesQuantileStreamResourceHandleOp BoostedTreesSerializeEnsemble
        SimpleMLCreateModelResource SimpleMLInferenceLeafIndexOpWithHandle
        SimpleMLLoadModelFromPathWithHandle
        IsBoostedTreesEnsembleInitialized IsBoostedTreesQuantileStreamResourceInitialized
    """,
    "asks what time it is, which ONNX models do not know": "Timestamp",
    "is a step of training: the gradient of drawn numbers, or of rounding": """
        QuantizeAndDequantizeV4Grad RandomGammaGrad
    """,
    "replaces a part of a tensor by begin, end and step; export a concatenation of the parts": """
        TensorStridedSliceUpdate
    """,
    "is about a lock; an ONNX model runs nothing beside itself": """
        ConsumeMutexLock MutexLock MutexV2
    """,
    "joins lists of tensors, many at once: no model that was exported has needed it": """
        TensorListConcatLists TensorListPushBackBatch
    """,
    "is about a queue; an ONNX model has no state": """
        FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 QueueCloseV2
        QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueueManyV2 QueueEnqueueV2
        QueueIsClosedV2 QueueSizeV2 RandomShuffleQueueV2
    """,
    "keeps what a loop computes for its gradient; an ONNX model has no state": """
        StackCloseV2 StackPopV2 StackPushV2 StackV2
    """,
    "makes or changes a table; an ONNX model has no state": """
        AnonymousHashTable AnonymousMutableDenseHashTable AnonymousMutableHashTable
        AnonymousMutableHashTableOfTensors HashTableV2 InitializeTableFromTextFileV2
        InitializeTableV2 LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2
        MutableDenseHashTableV2 MutableHashTableOfTensorsV2 MutableHashTableV2
    """,
    "only names a variable": "DestroyResourceOp DisableCopyOnRead VarHandleOp",
    "only orders other nodes": "NoOp",
    "ONNX draws no boxes; return them beside the picture": "DrawBoundingBoxes DrawBoundingBoxesV2",
    "names a file of a checkpoint, and is no part of a model": "ShardedFilename ShardedFilespec",
    "changes a variable, or asks on which device it runs; an ONNX model has neither": """
        DeviceIndex ResourceCountUpTo
    """,
    "pads by mirroring, resizes and multiplies at once; export the ops that it was made of": """
        FusedPadConv2D FusedResizeAndPadConv2D
    """,
    "ONNX has no bytes of strings": "DecodeBase64 DecodeCompressed EncodeBase64",
    "ONNX has no factorization of matrices": """
        BatchSelfAdjointEigV2 BatchSvd CholeskyGrad Eig Lu Qr SelfAdjointEigV2 Svd
    """,
    "ONNX has no functions of whole matrices": "MatrixLogarithm MatrixSquareRoot",
    "ONNX has no hash of strings": """
        Fingerprint StringToHashBucket StringToHashBucketFast StringToHashBucketStrong
    """,
    "ONNX has no operator that looks into strings": "StringLength StringStrip Substr",
    "ONNX has no reduction of strings": "UnsortedSegmentJoin",
    "ONNX has no solver of equations": "BandedTriangularSolve MatrixSolveLs",
    "ONNX has no solver of equations; there is one for whole matrices": "TridiagonalSolve",
    "ONNX has no such function": "IgammaGradA",
    "ONNX leaves open which of the values for one place stays; that depends on the indices": """
        InplaceUpdate
    """,
    "ONNX matches strings, it does not rewrite them": "RegexReplace StaticRegexReplace",
    "ONNX neither folds nor cuts texts like this; export what comes behind it": """
        CaseFoldUTF8 ConstrainedSequence MaxSpanningTree NormalizeUTF8 RegexSplitWithOffsets RougeL
        SentenceFragments SentencepieceDetokenizeOp SentencepieceIdToStringOp SentencepieceOp
        SentencepieceStringToIdOp SentencepieceTokenizeOp SentencepieceTokenizeWithOffsetsOp
        SentencepieceVocabSizeOp SplitMergeTokenizeWithOffsets TFText>RoundRobinGenerateMasks
        TFText>RoundRobinTrim TFText>WhitespaceTokenizeWithOffsetsV2
        UnicodeScriptTokenizeWithOffsets WordpieceTokenizeWithOffsets
    """,
    "ONNX reads and writes no sound files; give the model samples": "DecodeWav EncodeWav",
    "ONNX Runtime reads no picture files; give the model pixels": """
        DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng DecodeWebP
        ExtractJpegShape
    """,
    "ONNX writes no picture files": "EncodeJpeg EncodeJpegVariableQuality EncodePng",
    "ONNX writes numbers in its own way": "StringFormat",
    "packs or unpacks weights; a model that is exported holds them packed": """
        CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize
        CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2
    """,
    "reads examples out of bytes, which ONNX cannot; export the function behind it": """
        DecodeCSV DecodeJSONExample DecodePaddedRaw DecodeRaw ParseExample ParseExampleV2
        ParseSequenceExample
        ParseSequenceExampleV2 ParseSingleExample ParseSingleSequenceExample ParseTensor
        SerializeTensor
    """,
    "reads or writes protobuf messages, which ONNX cannot; export the function behind it": """
        DecodeProtoV2 EncodeProto
    """,
    "reads or writes files": """
        MatchingFiles MergeV2Checkpoints ReadFile RestoreV2 SaveV2 WriteFile
    """,
    (
        "searches through beginnings of labels, with results of a length that no ONNX operator "
        "gives; export the logits and decode them outside"
    ): """
        CTCBeamSearchDecoder
    """,
    (
        "sums over all ways to say the labels, step by step, and is only used to train; export "
        "the logits"
    ): """
        CTCLoss
    """,
    "works on rows of different length, which ONNX has not": """
        RaggedCountSparseOutput RaggedCross RaggedFillEmptyRows RaggedFillEmptyRowsGrad
        RaggedTensorFromVariant RaggedTensorToVariant RaggedTensorToVariantGradient
    """,
    "works on sets in sparse tensors, which ONNX has not; dense ones it can compare": """
        DenseToSparseSetOperation SetSize SparseToSparseSetOperation
    """,
    "works on the parts of a sparse tensor, whose number ONNX's dense tensors cannot follow": """
        SparseAdd SparseAddGrad SparseConcat SparseCountSparseOutput SparseFillEmptyRowsGrad
        SparseReduceMax SparseReduceMaxSparse SparseReduceSumSparse SparseSlice SparseSliceGrad
        SparseSoftmax SparseSparseMaximum SparseSparseMinimum SparseSplit
    """,
    "writes a summary, which an ONNX model cannot": """
        CloseSummaryWriter FlushSummaryWriter WriteAudioSummary WriteGraphSummary
        WriteHistogramSummary WriteImageSummary WriteRawProtoSummary WriteScalarSummary
        WriteSummary
    """,
}
# Op -> reason.
NO_ONNX = {op: reason for reason, ops in _REASONS.items() for op in ops.split()}
