"""Subset searches, which evaluate a feature by its benefit given the features already selected."""
