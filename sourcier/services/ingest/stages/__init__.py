"""The stages of the pipeline, a message in and a message or a commit out; and the sandbox that parsing runs in."""
