"""Mutants of the C sources: each is loaded as the oracle, and Stage One must refuse it a certificate."""
