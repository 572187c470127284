"""linkselect measured beside its alternatives: `make bench`."""
