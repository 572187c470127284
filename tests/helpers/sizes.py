"""Sizes that determine how work is divided, and from which size on it is compiled or sampled.

Results do not depend on them. A test sets a size by name in every module that has this name, and
thus need not know where it is defined. `tests/conftest.py` has the fixtures.
"""

import importlib
import pkgutil
import sys
from functools import cache
from math import inf

import linkselect
from linkselect._compiled import hits, manhattan, similarity_sums

# Blocks, tiles and chunks, each with the smallest sensible value.
LEAST = {
    "BLOCK_SIZE": 16,
    "CELLS_AS_BITS": 1,
    "CHUNK_SIZE": 1,
    "DIFFERENCES_AT_ONCE": 1,
    "DIFFERENCES_WORTH_THREADS": 0,
    "DISTANCES_PER_BLOCK": 1,
    "EDGE_CHUNK": 1,
    "FEATURES_PER_BLOCK": 1,
    "FEATURES_PER_TASK": 1,
    "FEW": 1,
    "FIRST_LOOK": 2,
    "LANES_SIZE": 1,
    "LEAST_QUERIES": 1,
    "LEAST_ROWS": 1,
    "LISTED_AT_ONCE": 1,
    "LOCAL_TILE_BYTES": 1,
    "MAX_KEPT_DISTANCES": 0,
    "MAX_NEAR_TILE": 1,
    "MAX_TILE": 1,
    "MEMBERSHIP_SIZE": 0,
    "MUTUAL_TILE_SIZE": 1,
    "N_NEAREST": 1,
    "PIECE_SIZE": 1,
    "PRODUCT_WIDTH": 1,
    "ROWS_PER_BLOCK": 1,
    "SIZES_AT_ONCE": 1,
    "BLOCK_WIDTH": 1,
    "STATES_AS_BITS": 0,
    "TERMS_SIZE": 1,
    "TILES_PER_STEP": 1,
    "TILE_SIDE": 1,
    "TILE_SIZE": 1,
    "VALUES_PER_BLOCK": 1,
    "VALUES_PER_COARSE_SUM": 1,
}
WORTH_COMPILING = (
    "COMPARISONS_WORTH_COMPILING",
    "DIFFERENCES_WORTH_COMPILING",
    "VALUES_WORTH_COMPILING",
)
LOOPS = (hits.count_hits, manhattan.manhattan_distances, similarity_sums.pair_sums)
OTHERS = ("cli", "labelling", "plot", "report", "reproduction")


@cache
def _modules():
    """Import all modules that compute; one imported later would keep the size set by a test."""
    found = pkgutil.walk_packages(linkselect.__path__, "linkselect.", onerror=None)
    names = [each.name for each in found if each.name.split(".")[1] not in (*OTHERS, "__main__")]
    return [importlib.import_module(name) for name in names]


def set_sizes(patch, **sizes):
    """Set sizes in every module that has them."""
    for name, value in sizes.items():
        having = [module for module in _modules() if name in vars(module)]
        assert having, f"no module has {name}"
        for module in having:
            patch.setattr(module, name, value)


def value_of(name):
    """Return the value of a size, which is equal in every module that has it."""
    (value,) = {vars(module)[name] for module in _modules() if name in vars(module)}
    return value


def shrink(patch, more=0):
    """Divide work into the smallest blocks, or into slightly larger ones."""
    set_sizes(patch, **{name: least + more for name, least in LEAST.items()})


def shrink_parts(patch, n_bytes, part_bytes=None):
    """Set the bytes that are read at once from stored samples, and the size of their parts."""
    part_bytes = part_bytes or n_bytes
    set_sizes(patch, SLAB_BYTES=n_bytes, PART_BYTES=part_bytes, STRETCH_BYTES=n_bytes // 2)


def compile_from(patch, is_always):
    """Always run compiled loops, or never."""
    least = 0 if is_always else inf
    set_sizes(patch, CANDIDATES_WORTH_SORTING=0, **dict.fromkeys(WORTH_COMPILING, least))


def remove_numba(patch):
    """Simulate that numba is not installed."""
    patch.setitem(sys.modules, "numba", None)
    # Loops cached by earlier calls remain for later tests, because compiling takes seconds.
    set_sizes(patch, **{loop.__name__: loop.__wrapped__ for loop in LOOPS})
    compile_from(patch, is_always=True)


def calls_of(loop):
    """Count how often a search has requested a compiled loop, which is compiled once."""
    found = loop.cache_info()
    return found.hits + found.misses
