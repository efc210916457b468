"""What reading one document may cost."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """The bounds of one parse; over one of them the document is refused, with the bound named."""

    wall_seconds: float = 120.0
    cpu_seconds: int = 120
    memory_bytes: int = 1536 * MEBIBYTE
    """Address space of the parsing process, the libraries it inherits included."""
    output_bytes: int = 256 * MEBIBYTE
    """Size of any file the parsing process writes."""
    open_files: int = 64
    pages: int = 5_000
    characters: int = 20_000_000
    """Of text, over the whole document."""
    archive_entries: int = 10_000
    archive_bytes: int = 1024 * MEBIBYTE
    """Of an Office file once unpacked."""
    archive_ratio: int = 500
    """Unpacked bytes for each packed one, over the whole archive; office XML of real sheets reaches about 60."""
    table_cells: int = 1_000_000
    members: int = 1_000
    """Documents inside a mail or an archive."""
    member_bytes: int = 100 * MEBIBYTE
    """Of one of them."""
    comments: str = "pdf"
    """Which comments are read: those of PDF, `all`, or `none`."""
    struck: bool = True
    """Whether struck-out text is read."""
    pictures: bool = True
    """Whether text is looked for in the pictures of documents that have a text of their own."""
    pictures_max: int = 300
    """Pictures of a document that are read."""
    pictures_bytes_max: int = 256 * MEBIBYTE
    """Bytes of all of them together, of what is no PDF: their files are held in memory."""
    picture_width_min: int = 200
    picture_height_min: int = 200
    picture_pixels_min: int = 40_000
    picture_ratio_max: float = 10.0
    """Smaller and narrower pictures are decoration (SPEC I11); 0 lifts a bound."""

    @property
    def choices(self) -> str:
        """What else is read of a document than usually, empty for nothing: what was read otherwise is kept apart."""
        usual = ParsingLimits()
        if (self.comments, self.struck) == (usual.comments, usual.struck):
            return ""
        return f"comments {self.comments}, struck {self.struck}"

    def is_content(self, width: int, height: int) -> bool:
        """Tell whether a picture of so many pixels may say something."""
        ratio = max(width, height) / max(min(width, height), 1)
        return (
            width >= self.picture_width_min and height >= self.picture_height_min
            and width * height >= self.picture_pixels_min
            and (not self.picture_ratio_max or ratio <= self.picture_ratio_max)
        )
