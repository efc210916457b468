"""What runs beside the pipeline: maintenance, HNSW indexes, spaces filled, knowledge units kept up."""
