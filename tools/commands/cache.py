"""mnc cache: what compilations left on disk."""

from datetime import datetime
from typing import Any

import click

from mnc.core.diagnostics import CompileError


def _store() -> Any:
    from mnc.cache import settings
    from mnc.cache.store import Store

    place = settings.directory()
    if place is None:
        raise CompileError("there is no place for a cache", hint="name a directory in MNC_CACHE_DIR")
    return Store(place, settings.limit())


@click.group()
def command() -> None:
    """Look at the cache of compiled programs, or clear it.

    It is in MNC_CACHE_DIR, else in mnc below XDG_CACHE_HOME or ~/.cache, and holds up to MNC_CACHE_LIMIT bytes (5G);
    what was used longest ago goes first. MNC_NO_CACHE=1 or --no-cache leaves it alone.
    """


@command.command()
def path() -> None:
    """Print the directory."""
    click.echo(_store().directory)


@command.command()
def info() -> None:
    """Print how much it holds, by kind, and whether it is in use."""
    from mnc.cache import settings

    store, entries = _store(), _store().entries()
    held = sum(entry.size for entry in entries)
    click.echo(f"directory  {store.directory}")
    click.echo(f"in use     {'yes' if settings.is_enabled() else 'no, MNC_NO_CACHE is set'}")
    click.echo(f"size       {settings.format_size(held)} of {settings.format_size(store.limit)}")
    for kind in sorted({entry.kind for entry in entries}):
        sizes = [entry.size for entry in entries if entry.kind == kind]
        click.echo(f"{kind:10} {len(sizes)} entries, {settings.format_size(sum(sizes))}")


@command.command("list", short_help="Print every entry, the one used last at the end.")
def list_entries() -> None:
    """Print every entry: when it was used last, its size, its kind and its key; the one used last comes last."""
    from mnc.cache import settings

    for entry in _store().entries():
        used = datetime.fromtimestamp(entry.used).isoformat(" ", "seconds")
        click.echo(f"{used}  {settings.format_size(entry.size):>10}  {entry.kind:8} {entry.path.stem}")


@command.command()
def clear() -> None:
    """Remove all entries."""
    from mnc.cache import settings

    number, size = _store().clear()
    click.echo(f"removed {number} entries, {settings.format_size(size)}")


@command.command(short_help="Remove what was used longest ago.")
@click.option("--size", required=True, metavar="SIZE", help="Bytes that may stay, for instance 500M.")
def trim(size: str) -> None:
    """Remove what was used longest ago until no more than SIZE is held."""
    from mnc.cache import settings

    removed = _store().trim(settings.parse_size(size))
    click.echo(f"removed {len(removed)} entries, {settings.format_size(sum(entry.size for entry in removed))}")
