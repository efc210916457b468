"""Speed, measured beside peers: one run, ratios, raw samples kept. `python -m bench`."""

import os

if "OPENBLAS_NUM_THREADS" not in os.environ:
    # The re-ranker's own setting, for its parts that run in this process; not for the peers, which inherit the rest.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import numpy as np  # noqa: F401

    del os.environ["OPENBLAS_NUM_THREADS"]
