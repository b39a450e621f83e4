"""The cache on disk: compiled programs and what is worked out about them, by content.

    container.py    one entry: a table of sections with checksums, read through a memory map
    store.py        the directory: atomic writes, the size limit, what was used last
    settings.py     where it is, how large it may be, whether it is in use
    fingerprints.py the keys: version of the compiler, content of a model, options
    programs.py     programs and reports as entries
"""
