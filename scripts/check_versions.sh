#!/usr/bin/env bash
# Builds the wheel, installs it from the package index into an empty environment of every Python from 3.11 to 3.13 that
# is found in PATH, and tries it there.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -RL src "$place/src"
cp pyproject.toml README.md LICENSE "$place"
tried=0
for version in 3.11 3.12 3.13; do
  python=$(command -v "python$version") || { echo "python$version: not installed"; continue; }
  "$python" -m venv "$place/$version"
  "$place/$version/bin/python" -m pip install --quiet --disable-pip-version-check "$place"
  (cd "$place" && "$place/$version/bin/mnc" doctor >"$place/$version.txt") || { cat "$place/$version.txt"; exit 1; }
  (cd "$place" && "$place/$version/bin/python" "$OLDPWD/test/unit/wheel/programs/right.py" >/dev/null)
  echo "$("$python" --version): $(tail -1 "$place/$version.txt")"
  tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || { echo "no Python from 3.11 to 3.13 is in PATH" >&2; exit 2; }
