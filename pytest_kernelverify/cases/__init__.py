"""Which witnesses a plan gets in each verification class."""
