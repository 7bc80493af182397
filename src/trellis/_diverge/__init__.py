"""Finding the first call in which two runs of one program differ: `trellis.diverge`."""
