"""Published file formats, one reader per format."""
