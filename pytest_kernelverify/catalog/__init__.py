"""Profiles, manifests and classifications; everything here fails closed."""
