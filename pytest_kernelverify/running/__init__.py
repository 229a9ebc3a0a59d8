"""One case on one carrier: operands, launch, words."""
