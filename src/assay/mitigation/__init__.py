"""Making an unfair metric fairer: adapters, other roads, propagation, and proof."""
