"""Questions put to metrics, one file a family: cases in, findings out."""
