"""`sourcier models fetch NAME… | list | verify`: fill and check the model store."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn, get_args

from sourcier.cli import output
from sourcier.models.catalogue import RECIPES, recipe_for
from sourcier.models.exporting import ExportEnvironment, export_python
from sourcier.models.fetch import Fetcher
from sourcier.models.progress import Progress, size
from sourcier.services.chassis.errors import ModelInvalid, ServiceError
from sourcier.services.chassis.models.store import ROOT_VARIABLE, ModelKind, ModelStore, root_of


def main(arguments: list[str]) -> int:
    """Run a command; 0 when all is well, 1 on an error that is told, 130 when interrupted."""
    # A SIGTERM unwinds like Ctrl-C, so that nothing half-made is left.
    signal.signal(signal.SIGTERM, interrupt)
    options = parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except KeyboardInterrupt:
        print("\ninterrupted; nothing half-made was kept", file=sys.stderr)
        return 130
    except ServiceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return status


def interrupt(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    root = root_of(os.environ)
    top = argparse.ArgumentParser(prog="sourcier models", description=__doc__)
    top.add_argument("--root", type=Path, default=root, help=f"the store's folder ({ROOT_VARIABLE}; now %(default)s)")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    fetch = commands.add_parser("fetch", help="put models into the store")
    fetch.add_argument("names", nargs="+", metavar="NAME", help=f"a hub id, or one of {', '.join(RECIPES)}")
    fetch.add_argument("--kind", choices=get_args(ModelKind), help="what a model is that has no recipe of its own")
    fetch.add_argument("--from", dest="folder", type=Path, metavar="DIR",
                       help="take the weights from this folder (Hugging Face format, or another store)")
    fetch.add_argument("--int8", action=argparse.BooleanOptionalAction, default=None,
                       help="make the int8 form, or do not")
    fetch.add_argument("--force", action="store_true", help="fetch again, even if the model is there")
    fetch.add_argument("--export-python", type=Path, default=export_python(os.environ), help=argparse.SUPPRESS)
    fetch.set_defaults(command=run_fetch)

    listing = commands.add_parser("list", help="show the models of the store and those with a recipe")
    listing.set_defaults(command=run_list)

    verify = commands.add_parser("verify", help="check every file against its manifest")
    verify.add_argument("names", nargs="*", metavar="NAME", help="models to check; all by default")
    verify.set_defaults(command=run_verify)
    return top


def run_fetch(options: argparse.Namespace) -> int:
    recipes = [recipe_for(name, kind=options.kind, int8=options.int8) for name in options.names]
    fetcher = Fetcher(root=options.root, environment=os.environ, progress=Progress(),
                      export=ExportEnvironment(python=options.export_python, variables=os.environ))
    for recipe in recipes:
        fetcher.fetch(recipe, folder=options.folder, force=options.force)
    return 0


def run_list(options: argparse.Namespace) -> int:
    manifests = ModelStore(options.root).list()
    for manifest in manifests:
        total = size(sum(entry.size_bytes for entry in manifest.files.values()))
        forms = ", ".join(sorted(manifest.variants))
        space = manifest.space_id if manifest.kind == "embedding" else "-"
        print(f"{manifest.name:32} {manifest.kind:14} {total:>8}  {forms:24} {space}")
    present = {manifest.name for manifest in manifests}
    for recipe in RECIPES.values():
        if recipe.name not in present:
            print(f"{recipe.name:32} {recipe.kind:14} {'absent':>8}  sourcier models fetch {recipe.name}")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    store = ModelStore(options.root)
    names = options.names or [manifest.name for manifest in store.list()]
    invalid = 0
    for name in names:
        try:
            store.load(name)
        except ModelInvalid as error:
            invalid += 1
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: verified")
    if not names:
        print(f"no model in {options.root}; `sourcier models fetch NAME` puts one there", file=sys.stderr)
    return 1 if invalid or not names else 0


if __name__ == "__main__":
    output.prepare()
    sys.exit(output.closing(lambda: main(sys.argv[1:]), failed=1))
