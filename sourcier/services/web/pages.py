"""The page: built files of this package, under a policy that lets it talk to nobody else."""

from __future__ import annotations

import asyncio
import gzip
import mimetypes
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from sourcier.services.chassis.errors import NotFound

FOLDER = Path(__file__).parent / "static"
"""What `make web` builds."""
INDEX, ASSETS = "index.html", "assets"
"""Files below the latter have a digest of their content in their names."""
PACKED_BYTES_MIN = 1_024
POLICY = "; ".join((
    "default-src 'none'",
    # WebAssembly: decoders of pictures in PDF files.
    "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "img-src 'self' data: blob:", "font-src 'self' data:",
    "connect-src 'self'", "media-src 'self' blob:", "worker-src 'self'", "manifest-src 'self'", "base-uri 'none'",
    "form-action 'self'", "frame-ancestors 'none'", "object-src 'none'",
))
IMMUTABLE = "public, max-age=31536000, immutable"
NOTICE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sourcier</title>
<h1>Sourcier</h1>
<p>This service runs, but was installed without its page; <code>make web</code> builds it. Programs can call it:
<code>/v1/chat/completions</code>, <code>/mcp</code>, <code>/api/documents/upload</code>.</p>
<p lang="fr">Ce service fonctionne, mais il a été installé sans sa page. Les programmes peuvent l’appeler.</p>
</html>
"""
# The system's own table, which differs by machine, is not asked.
_TYPES = mimetypes.MimeTypes(filenames=())
_MORE_TYPES = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json", ".svg": "image/svg+xml", ".bcmap": "application/octet-stream",
    ".html": "text/html; charset=utf-8", ".css": "text/css", ".json": "application/json", ".md": "text/markdown",
    ".ftl": "text/plain", ".pfb": "application/octet-stream", ".ttf": "font/ttf", ".icc": "application/octet-stream",
}
_PACKED_TYPES = frozenset({"application/json", "image/svg+xml", "application/wasm", "application/manifest+json"})


class Pages:
    """Serves the files of a folder; all that were there when it was made, and no others."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """List the files: a path of a request is looked up, never followed."""
        self._files = {
            path.relative_to(folder).as_posix(): _File.of(path) for path in sorted(folder.rglob("*")) if path.is_file()
        }

    async def serve(self, request: Request) -> Response:
        """Answer with a file; places in the page are behind the `#` of its address, and never asked for here."""
        path = request.path_params.get("path", "") or INDEX
        file = self._files.get(path)
        if file is None and path == INDEX:
            return HTMLResponse(NOTICE, headers={"content-security-policy": POLICY, "cache-control": "no-cache"})
        if file is None:
            raise NotFound(f"there is nothing at {'/' + path[:200]!r}")
        headers = {
            "cache-control": IMMUTABLE if path.startswith(f"{ASSETS}/") else "no-cache", "etag": file.tag,
            # Of every file: workers have the policy of their own, and a picture can be opened by itself.
            "content-security-policy": POLICY, "vary": "accept-encoding",
        }
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if file.packs and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(await file.packed(), headers=headers, media_type=file.kind)
        return FileResponse(file.path, headers=headers, media_type=file.kind)


@dataclass(slots=True)
class _File:
    """One file of the page."""

    path: Path
    kind: str
    tag: str
    """By its content: the same for all replicas."""
    packs: bool
    _packed: bytes = b""

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read what is told of a file."""
        ending = path.suffix.lower()
        kind = _MORE_TYPES.get(ending) or _TYPES.guess_type(path.name)[0] or "application/octet-stream"
        content = path.read_bytes()
        packs = len(content) >= PACKED_BYTES_MIN and (kind.startswith("text/") or kind in _PACKED_TYPES)
        return cls(path, kind, f'W/"{sha256(content).hexdigest()[:32]}"', packs)

    async def packed(self) -> bytes:
        """Return the content as gzip has it; made once."""
        if not self._packed:
            self._packed = await asyncio.to_thread(lambda: gzip.compress(self.path.read_bytes(), mtime=0))
        return self._packed
