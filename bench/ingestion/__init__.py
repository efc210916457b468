"""From files to rows that can be found, beside LlamaIndex and Haystack; by stage, and as the index grows."""
