"""Loops that numba compiles.

All modules follow one pattern: a function compiles a loop at its first call and returns it, or
returns None if numba is not installed. The module of the algorithm contains the NumPy version,
chooses between the two, and documents the size above which compiling pays off.

A compiled loop either counts exactly or computes in single precision with an error bound. Whatever
the bound leaves undecided is recomputed in float64, so results do not depend on numba.
"""
