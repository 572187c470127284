"""Loops that are compiled by numba.

All modules follow the same pattern: a function compiles a loop at its first call and returns the
loop, or returns None if numba is not installed. The NumPy version is in the module of the
algorithm, which chooses between both versions and documents the problem size above which
compilation saves time.

A compiled loop either computes exact counts or uses single precision with an error bound. Cases
that are not decided by this bound are recomputed in float64, so results do not depend on numba.
"""
