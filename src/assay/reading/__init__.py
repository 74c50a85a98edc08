"""A stored run to answers: names, verdict words, rankings, panels, comparisons, the atlas and gates."""
