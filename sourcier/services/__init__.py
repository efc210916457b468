"""Sourcier's processes and what they share."""

import os

# gRPC reads this once, as it is loaded, so here is the last moment. Since it polls sockets with threads of its own for
# Python too, a message crosses two more of them on its way: 20 to 30 % more CPU for each token of a stream
# (docs/measured/history/streaming.md). The poller that it had before is the completion queue's own thread.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")
