"""`Search` and direct answers by stage, each beside the sum of its parts."""
