"""The index's schema, as numbered SQL files."""

from pathlib import Path

FOLDER = Path(__file__).parent
