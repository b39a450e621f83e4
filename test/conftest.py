"""Settings for all tests: no deadlines (a busy machine is no failure); the same examples on every CI run."""

import atexit
import os
import tempfile

from hypothesis import settings

settings.register_profile("mnc", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mnc")
os.environ["MNC_NO_CACHE"] = "1"  # no test reads or writes the cache of whoever runs it
_reproducers = tempfile.TemporaryDirectory(prefix="mnc-reproducers-")
atexit.register(_reproducers.cleanup)
os.environ["MNC_REPRODUCER_DIR"] = _reproducers.name
