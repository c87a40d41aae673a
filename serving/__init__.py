"""A folder of SavedModels → a server that answers."""
