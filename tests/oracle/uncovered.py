"""Ops that no call of the oracle compares, each with the reason."""

_SUMMARIES = (
    "writes the newer form of its plugin, where TensorFlow's op writes the older; "
    "tests/unit/summary reads it with TensorBoard's own reader"
)
_NO_KERNEL = "TensorFlow has no code for it on CPU"

_REMOVED = (
    "TensorFlow runs it in graphs that older releases wrote alone; it is a later op's other name"
)

UNCOVERED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("ApproxTopK", "FFTND", "IFFTND", "IRFFTND", "MaxPoolGradGradWithArgmax", "RFFTND"),
            *("BoostedTreesBucketize", "BoostedTreesCreateEnsemble", "BoostedTreesPredict"),
            *("BoostedTreesDeserializeEnsemble", "BoostedTreesEnsembleResourceHandleOp"),
            *("BoostedTreesGetEnsembleStates", "BoostedTreesSerializeEnsemble"),
            *("IsBoostedTreesEnsembleInitialized", "BoostedTreesCreateQuantileStreamResource"),
            "BoostedTreesQuantileStreamResourceDeserialize",
            "BoostedTreesQuantileStreamResourceGetBucketBoundaries",
            "BoostedTreesQuantileStreamResourceHandleOp",
            "IsBoostedTreesQuantileStreamResourceInitialized",
            *("SimpleMLCreateModelResource", "SimpleMLInferenceLeafIndexOpWithHandle"),
            *("SimpleMLInferenceOpWithHandle", "SimpleMLLoadModelFromPathWithHandle"),
            *("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "CudnnRNNParamsSize"),
            *("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"),
            *("CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2"),
            *("CudnnRNNCanonicalToParams", "CudnnRNNCanonicalToParamsV2"),
        ),
        _NO_KERNEL,
    ),
    "AccumulateNV2": _NO_KERNEL,
    **dict.fromkeys(
        (
            *("DecodeProtoV2", "EncodeProto", "ExtractGlimpse", "ExtractGlimpseV2"),
            *("ParallelConcat", "QuantizedConcat", "RaggedFillEmptyRows"),
            *("RaggedFillEmptyRowsGrad", "StatelessParameterizedTruncatedNormal"),
            *("CheckNumericsV2", "DecodeJSONExample", "DeepCopy", "Empty"),
            *("GuaranteeConst", "Timestamp"),
        ),
        "tests/oracle/rare_op_programs.py compares it",
    ),
    **dict.fromkeys(
        (
            *("TensorListConcatLists", "TensorListPushBackBatch", "AnonymousHashTable"),
            *("AnonymousMutableDenseHashTable", "AnonymousMutableHashTable", "DeviceIndex"),
            *("AnonymousMutableHashTableOfTensors", "FusedPadConv2D", "FusedResizeAndPadConv2D"),
            *("ResourceCountUpTo", "MergeV2Checkpoints", "RestoreV2", "SaveV2"),
            *("MutexV2", "MutexLock", "ConsumeMutexLock", "FIFOQueueV2"),
            *("PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2", "QueueCloseV2"),
            *("QueueDequeueManyV2", "QueueDequeueUpToV2", "QueueDequeueV2", "QueueEnqueueV2"),
            *("QueueEnqueueManyV2", "QueueIsClosedV2", "QueueSizeV2"),
        ),
        "tests/oracle/held_value_programs.py compares it",
    ),
    **dict.fromkeys(("WriteHistogramSummary", "WriteImageSummary"), _SUMMARIES),
    "_FusedDepthwiseConv2dNative": (
        "TensorFlow's optimizer of graphs alone can make one: called otherwise it gives no elements"
    ),
    **dict.fromkeys(
        (
            *("BatchCholesky", "BatchSelfAdjointEigV2", "BatchSvd", "TopK"),
            *("BatchMatrixBandPart", "BatchMatrixDeterminant", "BatchMatrixDiag"),
            *("BatchMatrixDiagPart", "BatchMatrixInverse", "BatchMatrixSetDiag"),
            *("BatchMatrixSolve", "BatchMatrixTriangularSolve"),
        ),
        _REMOVED,
    ),
    **dict.fromkeys(
        (
            *("CaseFoldUTF8", "NormalizeUTF8", "RegexSplitWithOffsets"),
            *("TFText>WhitespaceTokenizeWithOffsetsV2", "WordpieceTokenizeWithOffsets"),
            *("TFText>RoundRobinGenerateMasks", "TFText>RoundRobinTrim"),
            *("SentencepieceDetokenizeOp", "SentencepieceIdToStringOp", "SentencepieceOp"),
            *("SentencepieceStringToIdOp", "SentencepieceTokenizeOp", "SentencepieceVocabSizeOp"),
            *("SentencepieceTokenizeWithOffsetsOp", "SplitMergeTokenizeWithOffsets", "RougeL"),
            *("ConstrainedSequence", "MaxSpanningTree", "SentenceFragments"),
            "UnicodeScriptTokenizeWithOffsets",
        ),
        "TensorFlow Text's; tests/unit/ops/text compares it with what that gave",
    ),
    **dict.fromkeys(
        (
            *("AnonymousIterator", "AnonymousIteratorV2", "AnonymousMemoryCache"),
            *("AnonymousSeedGenerator", "AssertCardinalityDataset", "BatchDataset"),
            *("BatchDatasetV2", "CacheDataset", "CacheDatasetV2", "ConcatenateDataset"),
            *("DatasetCardinality", "DatasetToSingleElement", "DeleteIterator"),
            *("DeleteMemoryCache", "DeleteSeedGenerator", "DummyMemoryCache", "DummySeedGenerator"),
            *("FilterDataset", "FinalizeDataset", "FlatMapDataset", "InterleaveDataset"),
            *("Iterator", "IteratorGetNextSync", "IteratorV2", "MapAndBatchDataset", "MapDataset"),
            *("ModelDataset", "OneShotIterator", "OptimizeDataset", "OptionsDataset"),
            *("PaddedBatchDataset", "PaddedBatchDatasetV2", "ParallelBatchDataset"),
            *("ParallelInterleaveDatasetV4", "ParallelMapDataset", "ParallelMapDatasetV2"),
            *("PrefetchDataset", "RangeDataset", "RepeatDataset", "RewriteDataset", "ScanDataset"),
            *("ShardDataset", "ShuffleAndRepeatDataset", "ShuffleDataset", "ShuffleDatasetV2"),
            *("ShuffleDatasetV3", "SkipDataset", "TakeDataset", "TakeWhileDataset"),
            *("TensorDataset", "TensorSliceDataset", "UnbatchDataset", "UniqueDataset"),
            *("WindowDataset", "ZipDataset", "AnonymousRandomSeedGenerator"),
            *("DeleteRandomSeedGenerator", "DirectedInterleaveDataset", "DummyIterationCounter"),
            *("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "GeneratorDataset"),
            *("GetElementAtIndex", "GroupByReducerDataset", "GroupByWindowDataset"),
            *("IgnoreErrorsDataset", "LegacyParallelInterleaveDatasetV2", "ListDataset"),
            *("MatchingFilesDataset", "MaxIntraOpParallelismDataset", "NonSerializableDataset"),
            *("OptimizeDatasetV2", "ParallelFilterDataset", "ParallelInterleaveDataset"),
            *("ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3"),
            *("PrivateThreadPoolDataset", "RandomDataset", "RandomDatasetV2", "RebatchDatasetV2"),
            *("SamplingDataset", "ShuffleAndRepeatDatasetV2", "SlidingWindowDataset"),
            *("SparseTensorSliceDataset", "TFRecordDataset", "TFRecordDatasetV2"),
            *("TextLineDataset", "ThreadPoolDataset", "ThreadPoolHandle", "UnwrapDatasetVariant"),
            *("WindowOp", "WrapDatasetVariant"),
            *(
                "ExperimentalDatasetCardinality",
                "ExperimentalDirectedInterleaveDataset",
                "ExperimentalGroupByReducerDataset",
                "ExperimentalGroupByWindowDataset",
                "ExperimentalIgnoreErrorsDataset",
                "ExperimentalMapAndBatchDataset",
                "ExperimentalMapDataset",
                "ExperimentalMatchingFilesDataset",
                "ExperimentalMaxIntraOpParallelismDataset",
                "ExperimentalNonSerializableDataset",
                "ExperimentalParallelInterleaveDataset",
                "ExperimentalPrivateThreadPoolDataset",
                "ExperimentalRandomDataset",
                "ExperimentalScanDataset",
                "ExperimentalTakeWhileDataset",
                "ExperimentalThreadPoolDataset",
                "ExperimentalThreadPoolHandle",
                "ExperimentalUnbatchDataset",
                "ExperimentalUniqueDataset",
                "ExperimentalSlidingWindowDataset",
            ),
        ),
        "only graphs from elsewhere have it: tests/interop/version2/programs/datasets.py and "
        "tests/interop/v1_datasets.py compare whole pipelines, tests/unit/ops/dataset the others",
    ),
    "FakeParam": "stands where a branch has no value: what it gives is never looked at",
    "NonDeterministicInts": "gives other numbers each time, as it must",
    "OptionalNone": "TensorFlow's own gradients of conditions make none; tests/unit/data has it",
}
