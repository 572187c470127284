"""Data sets, protocols, the papers' tables, and runs that can be resumed."""
