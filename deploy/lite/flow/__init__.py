"""The steps of an export, from the model to the file."""
