"""Comparison of linkselect with other libraries: `make bench`."""
