"""The gateway: the public services, and the chain from a question to a cited answer."""

import os

# Read by OpenBLAS when numpy is first imported. The gateway's products are small, and every thread that shares one
# takes a core from the models that work for the same question.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
