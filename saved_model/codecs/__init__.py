"""What a SavedModel holds beside graphs and values, as messages and back."""
