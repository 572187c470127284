import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from linkselect._blocks import map_threads, slices
from linkselect._samples import as_samples


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_slices_cover_everything_once():
    parts = slices(10, 4)
    assert [range(10)[part] for part in parts] == [range(4), range(4, 8), range(8, 10)]
    assert slices(0, 4) == []


def test_results_keep_their_order_and_errors_come_through():
    assert map_threads(lambda i: i * i, range(20), n_jobs=3) == [i * i for i in range(20)]
    with pytest.raises(ZeroDivisionError):
        map_threads(lambda i: 1 / i, range(3), n_jobs=2)


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        assert map_threads(lambda _: blas_threads(), range(3), n_jobs=2) == [{1}] * 3
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError):
            map_threads(lambda i: 1 / i, range(1))
        assert blas_threads() == before


def test_overlapping_fits_leave_the_limit_as_it_was():
    before = blas_threads()
    together = threading.Barrier(2)

    def hold(_):
        together.wait(5)
        return blas_threads()

    seen = []
    work = [
        threading.Thread(target=lambda: seen.extend(map_threads(hold, [0], n_jobs=1)))
        for _ in range(2)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert {1} in seen
    assert blas_threads() == before


def test_none_takes_as_many_threads_as_blas_may_use():
    def current(_):
        barrier.wait(5)
        return threading.get_ident()

    barrier = threading.Barrier(1)
    with threadpool_limits(1, "blas"):
        assert set(map_threads(current, range(4))) == {threading.get_ident()}
    barrier = threading.Barrier(2)
    with threadpool_limits(2, "blas"):
        assert len(set(map_threads(current, range(2)))) == 2


def test_blocks_are_copies():
    X = np.ones((4, 3))
    as_samples(X).map_columns(lambda block: block.__imul__(2).sum(axis=0))
    assert (X == 1).all()
