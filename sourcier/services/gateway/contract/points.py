"""Imports of points as the contract tells them."""

from __future__ import annotations

from sourcier.gateway.v1 import transfer_pb2
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.gateway.points.importing import Imported, Wanted


def wanted_points(header: transfer_pb2.PointsHeader) -> Wanted:
    """Return what an import asks for; raise `InvalidArgument` for what cannot be."""
    require(bool(header.collection.strip()), "collection is empty; name the collection", field="header.collection")
    require(header.vectors in transfer_pb2.PointVectors.values(),
            f"vectors {header.vectors} is not known; use POINT_VECTORS_EMBED or POINT_VECTORS_KEEP",
            field="header.vectors")
    keep = header.vectors == transfer_pb2.POINT_VECTORS_KEEP
    require(bool(header.model) or not keep,
            "model is empty, and the vectors are to be kept; name the model that made them, or have the texts embedded "
            "anew (POINT_VECTORS_EMBED)", field="header.model")
    return Wanted(header.collection, keep, header.model)


def points_response(wanted: Wanted, imported: Imported) -> transfer_pb2.ImportPointsResponse:
    """Return what became of an import."""
    tally = imported.tally
    return transfer_pb2.ImportPointsResponse(
        collection=wanted.collection, line_count=tally.lines, imported_count=imported.imported,
        skipped_count=imported.skipped, rejected_count=tally.rejected_count,
        rejected=[transfer_pb2.RejectedLine(number=number, reason=reason)
                  for number, reason in sorted(tally.rejected.items())],
        kept_vector_count=tally.kept_vectors,
    )
