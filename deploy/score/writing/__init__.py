"""Writers of results, one file per format."""
