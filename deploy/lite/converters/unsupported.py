"""Ops without built-in LiteRT operators, and the reasons."""

from fnmatch import fnmatchcase

# Reason -> patterns of op names; the first pattern that matches counts.
_REASONS = {
    "reads a dataset, which a file cannot hold": """
        *Dataset* *Iterator* *MemoryCache* *SeedGenerator* *IterationCounter* OneShotIterator
    """,
    "changes a variable by an optimizer's rule; a file has no state": """
        ResourceApply* ResourceSparseApply* Apply* SparseApply*
    """,
    "assigns a variable; a file has no state": """
        ResourceScatter* ResourceStridedSliceAssign Assign* Scatter[ADMSU]* ScatterNdUpdate
    """,
    "processes strings; LiteRT has no built-in operators for it": """
        String* StaticRegex* Regex* Unicode* AsString DecodeBase64 EncodeBase64 ReduceJoin
        UnsortedSegmentJoin Substr* EditDistance DecodeCSV DecodeRaw DecodePaddedRaw ParseTensor
        SerializeTensor
    """,
    "changes a table, or fills it when the model starts; a file has no state": """
        LookupTable* HashTable* MutableHashTable* MutableDenseHashTable* InitializeTable*
        AnonymousHashTable AnonymousMutable*
    """,
    "reads serialised examples; give the arrays themselves": """
        ParseExample* ParseSingleExample ParseSequenceExample* DecodeProto* EncodeProto
    """,
    "decodes or encodes images, audio or files; give the arrays themselves": """
        Decode* Encode* Extract Read* Write* Matching* Save* Restore* MergeV2* ShardedFilename*
        TensorSummary *Summary* TFRecord* FixedLength* WholeFile* Identity*Reader *Reader*
    """,
    "draws from TensorFlow's random generators; LiteRT has others": """
        Random* Stateless*Random* StatelessRandom* StatelessTruncatedNormal
        StatelessParameterized* StatelessMultinomial StatelessShuffle Multinomial
        TruncatedNormal ParameterizedTruncatedNormal RngSkip RngReadAndSkip StatefulUniform*
        StatefulStandardNormal* StatefulTruncatedNormal NonDeterministicInts *CandidateSampler
        SampleDistorted* StatelessSample* ComputeAccidentalHits DeleteRandomSeedGenerator
        StatelessShuffleV2 RandomGamma*
    """,
    "computes with complex numbers; LiteRT has them in its Fourier transforms only": """
        *FFT* Complex* Real Imag Conj Angle *Polar*
    """,
    "factors or solves matrices; LiteRT has no built-in operator for it": """
        *Cholesky* *Svd* *SelfAdjointEig* *Eig *Qr* *Lu *MatrixInverse *MatrixSolve*
        *MatrixDeterminant *LogMatrixDeterminant MatrixExponential MatrixLogarithm
        MatrixSquareRoot *TriangularSolve *MatrixTriangularSolve Tridiagonal* BandedTriangular*
    """,
    "calls back into Python": "EagerPyFunc PyFunc PyFuncStateless",
    "handles sparse or ragged tensors; LiteRT has dense ones only": """
        Sparse* Ragged* SerializeSparse* DeserializeSparse* SerializeManySparse
        DeserializeManySparse Set* AddSparseToTensorsMap AddManySparseToTensorsMap Take*Map
        DenseToSparse* DenseToDense*
    """,
    "computes gradients, which inference does not need": """
        *Grad *GradV[0-9] *GradGrad *Grad? *BackpropFilter* BroadcastGradientArgs
    """,
    "is a decision forest; LiteRT has no built-in operator for it": """
        BoostedTrees* SimpleML* DecisionTree*
    """,
    "keeps a queue, a stack or a barrier; a file has no state": """
        *Queue* Stack* Barrier* TensorArray* Accumulator* *Accumulator* *Stage* Unstage
    """,
    "writes logs or summaries; a file has no output but its results": "Print* *Summary Timestamp",
}


def _named(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


def reason_of(name: str) -> str:
    """The reason why an op has no converter."""
    for reason, patterns in _REASONS.items():
        if _named(name, patterns):
            return reason
    return "LiteRT has no built-in operator for it, and nothing here puts it together of others"
