"""What a program costs, and which node each cycle belongs to."""
