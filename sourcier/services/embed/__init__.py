"""The embed service: texts to vectors of one space, for questions over gRPC and for chunks over JetStream."""
