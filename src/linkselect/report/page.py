"""One page from plain data: a template, its style and its script, all in one file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from linkselect.messages import many
from linkselect.report.pictures import have_matplotlib, report_pictures

__all__ = ["render", "render_page", "write_page", "write_report"]

ROWS_PER_PAGE = 50
MINUS = "\N{MINUS SIGN}"


def render(summary: dict[str, Any]) -> str:
    """Make a page of HTML from what `summarize` returned.

    The page needs no network and runs no foreign code: names from the data are text everywhere,
    and its Content-Security-Policy allows its own script only. The same summary gives the same
    page.

    Parameters
    ----------
    summary : dict
        What `summarize` returned, or the same read back from JSON.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore
    >>> from linkselect.report import render, summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> page = render(summarize(FisherScore().fit(X, y), X, y))
    >>> page.splitlines()[0]
    '<!doctype html>'
    """
    ranking = summary["ranking"]
    finite = [abs(score) for score in ranking["score"] if isinstance(score, int | float)]
    rows = zip(*(ranking[key][:ROWS_PER_PAGE] for key in _COLUMNS), strict=True)
    return render_page(
        "report.html",
        summary=summary,
        headline=_headline(summary),
        pictures=report_pictures(summary) if have_matplotlib() else None,
        rows=[dict(zip(_COLUMNS, row, strict=True)) for row in rows],
        table={**ranking, "rows_per_page": ROWS_PER_PAGE, "largest": max(finite, default=0.0)},
    )


_COLUMNS = ("rank", "feature", "score", "selected")


def _headline(summary: dict[str, Any]) -> str:
    method, data, known = summary["method"], summary["data"], summary["supervision"]
    by = {
        "pairs": f"from {many(known.get('must', 0), 'must-link')} and "
        f"{many(known.get('cannot', 0), 'cannot-link')}",
        "labels": f"from the labels of {known.get('n_classes', 0)} classes",
        "partial labels": f"from {many(known['n_samples'], 'labelled sample')}",
        "none": "without labels or pairs",
    }[known["kind"]]
    return (
        f"{method['name']} selects {method['n_selected']:,} of "
        f"{many(data['n_features'], 'feature')}, {by}."
    )


def render_page(template: str, package: str = "linkselect.report", **content: Any) -> str:
    """Fill a template that stands on `base.html`; style and script go into the page.

    Parameters
    ----------
    template : str
        The name of a file in the folder `templates` of a package.
    package : str
        The package; `base.html` is always ours.
    **content
        What the template shows.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise ImportError(
            "A report needs jinja2, which is not installed: pip install 'linkselect[report]'"
        ) from None
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("linkselect.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["score"] = score_text
    environment.filters["share"] = _share
    environment.globals["many"] = many
    environment.policies["json.dumps_function"] = _strict_json
    script = _packaged("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(
        **content,
        style=Markup(_packaged("page.css")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def _packaged(name: str) -> str:
    return (files("linkselect.report") / "templates" / name).read_text(encoding="utf-8")


def _strict_json(value: Any, **options: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), **options)


def score_text(score: float | str | None) -> str:
    """Write a score in few digits, as page.js does."""
    if score is None:
        return "no score"
    if isinstance(score, str):
        return score.replace("inf", "∞").replace("-", MINUS)
    short = f"{score:#.4g}"
    if score and not 1e-4 <= abs(score) < 1e4:
        digits, power = f"{score:.3e}".split("e")
        short = f"{digits}e{int(power):+d}"
    return short.replace("-", MINUS)


def _share(score: float | str | None, largest: float) -> str:
    """Return how long the bar behind a score is, as a percentage."""
    if not isinstance(score, int | float) or not largest:
        return "100%" if isinstance(score, str) else "0%"
    return f"{100 * abs(score) / largest:.1f}%"


def write_report(summary: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a summary to a file, wholly or not at all.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    path : str or path
        The file; one that exists is replaced.
    """
    write_page(render(summary), path)


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file, wholly or not at all."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_text(page, encoding="utf-8", newline="\n")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
