"""Configuration of the IR tests: every test runs our tools and FileCheck, with a time limit."""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

config.name = "mnc"  # noqa: F821 - lit provides `config` and `lit_config`
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test", ".py", ".vsm"]  # noqa: F821
config.excludes = ["lit.cfg.py", "Inputs", "Output"]  # noqa: F821

root = Path(__file__).resolve().parents[2]
# Output goes below build/, so that the source tree stays clean.
config.test_source_root = str(root / "test" / "lit")  # noqa: F821
config.test_exec_root = str(root / "build" / "lit")  # noqa: F821

bin_directory = Path(sys.executable).parent
tools = os.pathsep.join([str(root / ".venv" / "bin"), str(bin_directory), os.environ.get("PATH", "")])
config.environment["PATH"] = tools  # noqa: F821
config.environment["MNC_NO_CACHE"] = "1"  # noqa: F821 - no test reads the cache of whoever runs it
config.environment["MALLOC_PERTURB_"] = "85"  # noqa: F821 - whoever reads an erased operation finds garbage there
for name in ("HOME", "TMPDIR", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821

filecheck = os.environ.get("FILECHECK") or shutil.which("filecheck", path=tools)
if not filecheck:
    lit_config.fatal("no FileCheck found: run `make setup`, or name one in the environment variable FILECHECK")  # noqa: F821
config.substitutions.append((r"\bFileCheck\b", filecheck))  # noqa: F821
config.substitutions.append(("%python", sys.executable))  # noqa: F821
config.maxIndividualTestTime = 60  # noqa: F821
