"""The order of machine operations, before they have addresses."""
