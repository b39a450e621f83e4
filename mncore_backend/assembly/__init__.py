"""Assembly text and its records."""
