"""What reading a file of arrays can fail with."""

import zipfile
import zlib

UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, NotImplementedError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip
"""numpy and zipfile pass on whatever damaged bytes lead to."""
