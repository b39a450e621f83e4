"""What is kept of a compilation: passes, decisions, layouts, loop nests, buffers, and what every line works for.

`Recorder` collects it while the passes run, `make_record` joins it with a replay of the program, `save_record` and
`load_record` keep it as ``record.json.gz`` in the build directory. Reports, traces and explanations read it from there.
"""
