"""A finished tile program as the data that kernel templates print."""
