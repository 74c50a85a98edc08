"""Files to records, one file a published form."""
