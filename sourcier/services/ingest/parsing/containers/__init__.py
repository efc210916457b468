"""Documents inside documents: what a mail or an archive holds, unpacked within bounds, and ZIP archives."""
