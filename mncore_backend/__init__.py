"""From hardware operations to text, and running the text. Imports nothing: its leaves are used by lower layers."""
