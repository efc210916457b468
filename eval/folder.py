"""The type of an option that names a folder of data: where there is none, it says what belongs there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from eval import shared_sets


class _Folder(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not Path(value).is_dir():
            self.fail(shared_sets.absent_folder(Path(value)), param, ctx)
        return super().convert(value, param, ctx)


FOLDER = _Folder(path_type=Path, exists=True, file_okay=False)
"""A folder that exists."""
