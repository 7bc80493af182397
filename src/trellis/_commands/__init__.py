"""Sub-commands of `trellis`: each loads fast, and imports what it needs when it runs."""
