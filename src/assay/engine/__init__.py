"""Cases to scores and scores to verdicts: plan, cache, scoring, workers, and the one rule of verdicts."""
