"""Tables."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "looks into a table, for which there is no converter yet",
    "LookupTableExportV2",
    "LookupTableFindV2",
    "LookupTableSizeV2",
)
refuses(
    "makes or changes a table; an ONNX model has no state",
    "AnonymousHashTable",
    "AnonymousMutableHashTable",
    "HashTableV2",
    "InitializeTableFromTextFileV2",
    "InitializeTableV2",
    "LookupTableImportV2",
    "LookupTableInsertV2",
    "LookupTableRemoveV2",
    "MutableDenseHashTableV2",
    "MutableHashTableOfTensorsV2",
    "MutableHashTableV2",
)
