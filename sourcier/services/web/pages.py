"""The page: built files of this package, under a policy that lets it talk to nobody else."""

from __future__ import annotations

import mimetypes
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from sourcier.services.chassis.errors import NotFound

FOLDER = Path(__file__).parent / "static"
"""What `make web` builds."""
ASSETS = "assets"
"""Files below it have a digest of their content in their names."""
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
    ".ftl": "text/plain", ".pfb": "application/octet-stream", ".ttf": "font/ttf", ".icc": "application/octet-stream",
}


class Pages:
    """Serves the files of a folder; all that were there when it was made, and no others."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """List the files: a path of a request is looked up, never followed."""
        self._files = {
            path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
        }

    async def serve(self, request: Request) -> Response:
        """Answer with a file; places in the page are behind the `#` of its address, and never asked for here."""
        path = request.path_params.get("path", "")
        if path in {"", "index.html"}:
            return self._index()
        if path not in self._files:
            raise NotFound(f"there is nothing at {'/' + path[:200]!r}")
        return self._file(path)

    def _index(self) -> Response:
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
        if "index.html" not in self._files:
            return HTMLResponse(NOTICE, headers=headers)
        return FileResponse(self._files["index.html"], headers=headers, media_type="text/html; charset=utf-8")

    def _file(self, path: str) -> Response:
        ending = PurePosixPath(path).suffix.lower()
        kind = _MORE_TYPES.get(ending) or _TYPES.guess_type(path)[0] or "application/octet-stream"
        headers = {
            "cache-control": IMMUTABLE if path.startswith(f"{ASSETS}/") else "no-cache",
            # Workers have the policy of their own file.
            "content-security-policy": POLICY,
        }
        return FileResponse(self._files[path], headers=headers, media_type=kind)
