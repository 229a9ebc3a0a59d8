"""Words, ULPs, bounds, shapes and strides: the lowest floor, which knows no operation."""
