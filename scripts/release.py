"""Make a release: version in pyproject.toml, section of CHANGELOG.md, commit and tag. Nothing is pushed.

Usage: python scripts/release.py X.Y.Z [--date YYYY-MM-DD] [--check]   (make release VERSION=X.Y.Z)
"""

import argparse
import datetime
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HEAD = "## Unreleased"
BREAKING = "**Breaking:**"


class ReleaseError(Exception):
    """Why there can be no release of this version now."""


@dataclass(frozen=True)
class Version:
    """Semantic version; as long as the first number is 0, breaking changes raise the second."""

    numbers: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Raises ReleaseError for anything but X.Y.Z."""
        match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
        if match is None:
            raise ReleaseError(f"'{text}' is not a version: write X.Y.Z")
        return cls((int(match[1]), int(match[2]), int(match[3])))

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    def may_break(self, before: "Version") -> bool:
        """Whether this version may hold breaking changes after `before`."""
        compared = 1 if self.numbers[0] else 2
        return self.numbers[:compared] > before.numbers[:compared]


def current_version(project: str) -> Version:
    """The version in the text of pyproject.toml."""
    match = re.search(r'^version = "([^"]+)"$', project, re.MULTILINE)
    if match is None:
        raise ReleaseError("pyproject.toml has no version")
    return Version.parse(match[1])


def unreleased(changes: str) -> str:
    """The lines below the head of what is not released yet. Raises ReleaseError when there are none."""
    match = re.search(rf"^{HEAD}\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if match is None or not match[1].strip():
        raise ReleaseError(f"CHANGELOG.md has nothing below '{HEAD}'")
    return match[1].strip("\n")


def released(project: str, changes: str, version: Version, date: str) -> tuple[str, str, str]:
    """New texts of pyproject.toml and CHANGELOG.md, and the section. Raises ReleaseError."""
    before, section = current_version(project), unreleased(changes)
    first = f"## {before} " not in changes and f"## {before}\n" not in changes
    if version.numbers < before.numbers or (version == before and not first):
        raise ReleaseError(f"{version} does not follow {before}")
    if BREAKING in section and not first and not version.may_break(before):
        raise ReleaseError(f"{version} cannot follow {before}: there are entries marked '{BREAKING}'")
    project = re.sub(r'^version = "[^"]+"$', f'version = "{version}"', project, count=1, flags=re.MULTILINE)
    changes = changes.replace(f"{HEAD}\n", f"{HEAD}\n\n## {version} ({date})\n", 1)
    return project, changes, section


def _git(folder: Path, *arguments: str, text: str | None = None) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def release(folder: Path, version: Version, date: str, *, check: bool = False) -> str:
    """Write, commit and tag; with `check` only say whether it could be done. Returns the section."""
    if _git(folder, "status", "--porcelain", "--untracked-files=no").strip():
        raise ReleaseError("there are changes that are not committed")
    if _git(folder, "tag", "--list", f"v{version}").strip():
        raise ReleaseError(f"there is a tag v{version} already")
    project, changes = folder / "pyproject.toml", folder / "CHANGELOG.md"
    texts = released(project.read_text(encoding="utf-8"), changes.read_text(encoding="utf-8"), version, date)
    if not check:
        project.write_text(texts[0], encoding="utf-8")
        changes.write_text(texts[1], encoding="utf-8")
        _git(folder, "commit", "--quiet", "-m", f"Release {version}", "--", "pyproject.toml", "CHANGELOG.md")
        message = f"{version}\n\n{texts[2]}\n"
        _git(folder, "tag", "--annotate", f"v{version}", "--cleanup=whitespace", "--file=-", text=message)
    return texts[2]


def main() -> int:
    """0: released; 2: not possible."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", metavar="X.Y.Z")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    try:
        section = release(Path.cwd(), Version.parse(arguments.version), arguments.date, check=arguments.check)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(section)
    if arguments.check:
        return 0
    print(f"\ntagged v{arguments.version}; publish it with 'git push --follow-tags'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
