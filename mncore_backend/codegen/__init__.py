"""Code generation: the program of a PE -> machine operations -> addresses -> statements -> text."""
