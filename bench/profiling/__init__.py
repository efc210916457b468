"""Where the time of a running stack goes: sampled stacks, flame graphs, processor time by process."""
