"""The rerank service: orders candidate passages by how well they answer a question."""

import os

# Read by OpenBLAS when numpy is first imported. A request has a thread of its own already; waking the others of a pool
# costs more than these products, and on a busy machine several times as much.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
