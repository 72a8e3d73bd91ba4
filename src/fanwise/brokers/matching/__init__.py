"""Which rectangles a point lies in: an index that grows and shrinks."""
