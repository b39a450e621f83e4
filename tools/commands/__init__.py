"""Subcommands of `mnc`, one file each; every file offers `command`."""
