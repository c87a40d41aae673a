"""The bytes of a file: flatbuffers, flexbuffers, and a model's serialisation."""
