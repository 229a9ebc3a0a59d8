"""Report schema v3: bind, write, load strictly, show."""
