"""Speed of the compiler and of the programs it makes; results are JSON, comparable between commits.

Compilations are measured without the cache; an empty MNC_NO_CACHE in the environment asks for it.
"""

import os

os.environ.setdefault("MNC_NO_CACHE", "1")
