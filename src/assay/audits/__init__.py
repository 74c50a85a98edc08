"""Questions put to metrics, one module per family: cases in, findings out."""
