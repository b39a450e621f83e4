"""Rules of operators for values whose extents a run finds, by what the operators do."""
