"""A debugger for programs on the emulator, `mnc run --step`: `session` runs, `memory` shows, `prompt` talks."""
