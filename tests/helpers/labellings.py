"""Labelling sessions for tests: grouped samples, a server, and requests to its pages."""

import asyncio
import re
import shutil

import httpx
import numpy as np
from tests.helpers.browsers import BROWSERS

from linkselect import LinkSelector, Pairs
from linkselect.labelling._app import make_app
from linkselect.labelling._background import Found
from linkselect.labelling._labelling import number_of_best
from linkselect.labelling._serving import Server
from linkselect.labelling._session import Ask, begin
from linkselect.labelling._shown_samples import ShownSamples

N_SAMPLES = 60


def grouped(n_samples=N_SAMPLES, n_features=9, seed=0):
    """Return samples in three groups that differ in the first three features, and the groups."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n_samples) % 3)
    X = random.normal(size=(n_samples, n_features))
    X[:, :3] += 6 * (y[:, None] - 1)
    return X, y


class AtOnce:
    """Rank immediately in this process, without checks and reports."""

    busy = False

    def __init__(self, X, n_best):
        self.X, self.n_best = X, n_best
        self.found = Found()

    def rank(self, n_answers, links, before):
        if links.are_enough:
            selector = LinkSelector(self.n_best).fit(self.X, pairs=Pairs(links.must, links.cannot))
            path = selector.path_[np.isfinite(selector.path_)]
            self.found = Found(selector.order_, tuple(path), n_answers)

    def write_report(self, links, call, *, again=False):
        return links.key  # of a report that is never written

    def close(self):
        pass


def begun(
    out=None,
    *,
    X=None,
    ids=None,
    names=None,
    pairs=None,
    repeat="again",
    preparation=None,
    background=False,
    **shown,
):
    """Return a labelling session without a server, and by default without a background process."""
    if X is None:
        X, _ = grouped()
    names = [f"feature {i}" for i in range(X.shape[1])] if names is None else names
    samples = ShownSamples(X, tuple(range(len(X))) if ids is None else ids, names, **shown)
    about = {"source": "samples", "preparation": preparation, "repeat": repeat}
    labelling, _ = begin(Ask(X, samples, ids, pairs, out, random_state=0, **about))
    if not background:
        labelling.background.close()
        labelling.background = AtOnce(X, number_of_best(X.shape[1]))
        labelling._follow()
    return labelling


def page_of(labelling, path):
    """Return the text of a page, without access control or network."""

    async def get():
        transport = httpx.ASGITransport(make_app(labelling, "samples"))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return (await client.get(path)).text

    return asyncio.run(get())


def served(labelling, **options):
    server = Server(labelling, options.pop("source", "samples"), **options)
    server.start()
    return server


def client_of(address):
    """Return a client that behaves like a browser on a page of the server."""
    origin = "/".join(address.split("/", 3)[:3])
    return httpx.Client(base_url=address, headers={"origin": origin}, trust_env=False, timeout=120)


def asked(page):
    """Return the two rows in the question of a page."""
    found = (re.search(rf'name="{name}" value="(\d+)"', page) for name in "ab")
    a, b = (int(one[1]) for one in found)
    return a, b


def browser_program():
    return next(filter(None, map(shutil.which, BROWSERS)), None)
