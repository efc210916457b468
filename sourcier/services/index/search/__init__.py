"""Search: scope, dense and lexical hits, fusion, and the passages found."""
