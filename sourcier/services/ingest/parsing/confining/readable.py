"""What a reader may open beside its document: Python, its packages, the system's libraries, fonts, time zones."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator

_SYSTEM = (
    # Native libraries, and what the C library loads with them.
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
    # PDFium draws letters with these where a document brings none.
    "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts",
    "/usr/share/zoneinfo", "/etc/localtime", "/etc/mime.types", "/etc/ssl/openssl.cnf",
    # How many processors there are, and what they can: read by numeric libraries.
    "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo", "/dev/urandom",
)
WRITABLE = ("/dev/null",)
_PACKAGES = ("site-packages", "dist-packages")


def libraries() -> tuple[str, ...]:
    """Return the paths. Call it when everything is imported: what is not installed may be read where it is loaded.

    A folder on Python's path may be a checkout or somebody's home, so that only the packages in it count.
    """
    installed = {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(), os.path.join(sys.base_prefix, "lib"),
        *(path for path in sys.path if os.path.basename(path) in _PACKAGES),
    }
    folders = [each for each in installed if each]
    roots = _outermost((*_SYSTEM, *folders, *_linked(folders)))
    return _outermost((*roots, *_loaded_elsewhere(roots)))


def _linked(folders: Iterable[str]) -> Iterator[str]:
    """Yield what is installed as a link to where it lies: a package that is loaded later is read there."""
    for folder in folders:
        if os.path.basename(folder) in _PACKAGES and os.path.isdir(folder):
            with os.scandir(folder) as entries:
                yield from (entry.path for entry in entries if entry.is_symlink())


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those that are there and not below another: each costs every child a little."""
    there = sorted({os.path.realpath(path) for path in paths if os.path.exists(path)})
    return tuple(path for path in there if not any(_is_below(path, other) for other in there if other != path))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _loaded_elsewhere(roots: tuple[str, ...]) -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if "." in name:
            continue
        places = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None)]
        for place in places:
            if isinstance(place, str) and place:
                real = os.path.realpath(place)  # a look at each folder above it
                if not any(_is_below(real, root) for root in roots):
                    yield real
