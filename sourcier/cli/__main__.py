"""`python -m sourcier.cli`: the same as `sourcier`."""

from __future__ import annotations

from sourcier.cli.main import main

if __name__ == "__main__":
    main()
