"""Messages of the formats, generated from the .proto files beside this one; no logic."""
