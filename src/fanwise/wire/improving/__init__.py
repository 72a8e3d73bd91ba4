"""BoundParts of `best`: starts, moves, swaps and larger changes."""
