"""Subset searches, which evaluate each feature in the context of those already selected."""
