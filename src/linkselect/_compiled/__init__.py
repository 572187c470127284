"""Loops that numba compiles, nothing else.

One pattern for all of them: a function here compiles the loop at its first call and returns it, or
None without numba. The algorithm's own module has the plain way, the choice between the two, and
the comment that says from which size on compiling pays. A loop only proposes, in single precision
with a bound on its error, or counts exactly; the plain way decides what the bound leaves open. So
results do not depend on whether numba is there.
"""
