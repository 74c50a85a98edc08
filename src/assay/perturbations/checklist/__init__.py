"""Templates of the perturbation checklist, one file per kind of edit."""
