"""The recipes that fill the model store: `python -m sourcier.models fetch NAME…`, `list`, `verify`.

The commands run in the services' environment; what needs PyTorch runs as a subprocess in the export environment, in
the modules `packed_e5`, `hub`, `embedding`, `quantisation`, `cross_encoder` and `language`.
"""
