"""Templates of the perturbation checklist (Sai et al., 2021), one file per kind of edit, and a catalogue."""
