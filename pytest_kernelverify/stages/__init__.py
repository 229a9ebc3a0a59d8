"""Stage One and Stage Two: the same walk with another carrier and another reference."""
