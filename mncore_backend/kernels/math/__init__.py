"""Approximation of elementary functions: polynomial fitting, and expansion into machine arithmetic."""
