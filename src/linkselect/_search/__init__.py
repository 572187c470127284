"""Searches for subsets of features: what a feature adds to those already chosen."""
