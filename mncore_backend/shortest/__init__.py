"""Programs are compiled in several ways, and the shortest is kept: the pass that does it, and its trials."""
