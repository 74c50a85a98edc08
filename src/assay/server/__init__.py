"""The playground and run browser of `assay serve`."""
