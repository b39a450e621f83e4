"""Machine code from a relocatable object file (ELF, 64 bits, x86-64), without linker and compiler.

Kernels refer to nothing but constants and functions of their own file, by absolute addresses, since the JIT compiles
for code that may lie anywhere. So loading them is copying sections and adding one address per relocation. Whatever else
a file asks for is refused.
"""

import ctypes
import mmap
import struct
from typing import NamedTuple

_ALLOCATED, _UNINITIALISED, _SYMBOLS, _ADDENDS = 0x2, 8, 2, 4  # SHF_ALLOC, SHT_NOBITS, SHT_SYMTAB, SHT_RELA
_ABSOLUTE_64 = 1  # R_X86_64_64
_X86_64 = 62
_ALIGNMENT = 64
_IDENTITY = b"\x7fELF\x02\x01"
_images: list[mmap.mmap] = []  # loaded code stays


class UnfitObject(Exception):
    """The file holds something that cannot be loaded here."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


def _sections(data: bytes) -> list[_Section]:
    if data[: len(_IDENTITY)] != _IDENTITY or struct.unpack_from("<HH", data, 16) != (1, _X86_64):
        raise UnfitObject("no relocatable file for x86-64")
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, _ = struct.unpack_from("<HHH", data, 58)
    return [_Section(*struct.unpack_from("<IIQQQQIIQQ", data, start + i * size)) for i in range(count)]


def _string(data: bytes, section: _Section, offset: int) -> str:
    first = section.offset + offset
    return data[first : data.index(b"\0", first)].decode()


def _placed(data: bytes, sections: list[_Section]) -> dict[int, int]:
    """Offsets of the sections that are loaded; tables for unwinding are not."""
    names = sections[struct.unpack_from("<H", data, 62)[0]]
    places, used = {}, 0
    for index, section in enumerate(sections):
        if section.flags & _ALLOCATED and section.size and not _string(data, names, section.name).startswith(".eh_"):
            if section.kind == _UNINITIALISED or section.alignment > _ALIGNMENT:
                raise UnfitObject("a section of a kind that kernels do not have")
            places[index] = used
            used += -(-section.size // _ALIGNMENT) * _ALIGNMENT
    return places


def load_function(data: bytes, name: str) -> int:
    """Load the file and return the address of its function `name`.

    Raises:
        UnfitObject: it needs more than its own sections, or this system does not run code that was loaded.
    """
    try:
        return _load(data, name)
    except (struct.error, ValueError, IndexError, OSError) as error:
        raise UnfitObject(str(error)) from error


def _load(data: bytes, name: str) -> int:
    sections = _sections(data)
    places = _placed(data, sections)
    if not places:
        raise UnfitObject("no code")
    image = mmap.mmap(-1, max(places[index] + sections[index].size for index in places))
    base = ctypes.addressof(ctypes.c_char.from_buffer(image))
    for index, place in places.items():
        section = sections[index]
        image[place : place + section.size] = data[section.offset : section.offset + section.size]
    found = None
    for section in sections:
        if section.kind == _ADDENDS and section.info in places:
            _relocate(data, image, base, sections, places, section)
        elif section.kind == _SYMBOLS:
            found = _address(data, sections, places, section, name)
    if found is None:
        raise UnfitObject(f"no function '{name}'")
    _make_executable(base, len(image))
    _images.append(image)
    return base + found


def _symbol(data: bytes, places: dict[int, int], table: _Section, number: int) -> int:
    """Offset of a symbol in the image."""
    _, _, _, index, value, _ = struct.unpack_from("<IBBHQQ", data, table.offset + number * table.entry)
    if index not in places:
        raise UnfitObject("a name from elsewhere")
    return places[index] + value


def _relocate(
    data: bytes, image: mmap.mmap, base: int, sections: list[_Section], places: dict[int, int], section: _Section
) -> None:
    for at in range(section.offset, section.offset + section.size, section.entry):
        offset, kind, number, addend = struct.unpack_from("<QIIq", data, at)
        if kind != _ABSOLUTE_64:
            raise UnfitObject(f"relocation {kind}")
        target = base + _symbol(data, places, sections[section.link], number) + addend
        struct.pack_into("<Q", image, places[section.info] + offset, target)


def _address(
    data: bytes, sections: list[_Section], places: dict[int, int], table: _Section, name: str
) -> int | None:
    for number in range(table.size // table.entry):
        text, index = struct.unpack_from("<IxxH", data, table.offset + number * table.entry)
        if index in places and text and _string(data, sections[table.link], text) == name:
            return _symbol(data, places, table, number)
    return None


def _make_executable(address: int, size: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise UnfitObject("memory cannot be made executable")
