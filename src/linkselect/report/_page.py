"""Render a summary as a single HTML file that includes its styles and script."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from linkselect._display import score_text
from linkselect._files import written_whole
from linkselect._messages import many, pairs_text
from linkselect.evaluation._significance import p_text
from linkselect.plot._style import have_matplotlib
from linkselect.report._image_features import picture_colours
from linkselect.report._report_pictures import profile_pictures, report_pictures
from linkselect.report._schema import Score, Summary
from linkselect.report._validation_summary import selected_line, validation_lines

if TYPE_CHECKING:
    from jinja2 import Environment

ROWS_PER_PAGE = 50
MINUS = "\N{MINUS SIGN}"

# Optional columns of the table of features, and their titles.
MEASURES = {
    "frequency": "Frequency",
    "p_value": "p",
    "adjusted": "Adjusted p",
    "q_value": "q",
}


def render(summary: Summary) -> str:
    """Render the result of `summarize` as an HTML page.

    The page requires no network access. Names from the data are escaped, and the
    Content-Security-Policy of the page allows only its own script. Rendering the same summary
    again returns an identical page.

    Parameters
    ----------
    summary : dict
        The result of `summarize`, or the same data loaded from JSON.

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
    summary = {**_older_lack(summary), **summary}  # type: ignore[typeddict-item]
    ranking = summary["ranking"]
    finite = [score for score in ranking["score"] if isinstance(score, int | float)]
    ends = (min(finite, default=0.0), max(finite, default=0.0))
    worst, best = ends if summary["method"]["greater_is_better"] else ends[::-1]
    found = summary.get("validation")
    columns = {**ranking, **_validation_columns(summary)}
    if "reason" not in columns:  # written by an older version
        columns["reason"] = ["selected" if one else "below the cut" for one in ranking["selected"]]
    return render_page(
        "report.html",
        summary=summary,
        cards=_cards(summary, columns),
        validation=found,
        selected=selected_line(summary),
        validation_lines=validation_lines(summary),
        pictures=report_pictures(summary) if have_matplotlib() else None,
        rows=_rows(columns, range(min(ROWS_PER_PAGE, len(ranking["feature"])))),
        measures={key: title for key, title in MEASURES.items() if key in columns},
        table={**columns, "rows_per_page": ROWS_PER_PAGE, "worst": worst, "best": best},
    )


def _older_lack(summary: Summary) -> dict[str, Any]:
    """Return default values for the keys that are missing from summaries of older versions."""
    number = {"n_features": summary["method"]["n_selected"], "rule": "given", "reason": ""}
    return {
        "validation": None,
        "profiles": None,
        "alarms": [],
        "number_of_features": {**number, "curve": None},
    }


def _rows(columns: dict[str, Any], places: Iterable[int]) -> list[dict[str, Any]]:
    return [{name: column[place] for name, column in columns.items()} for place in places]


def _validation_columns(summary: Summary) -> dict[str, list[Any]]:
    """Return a column of highly correlated features, and a column shown only on phones."""
    found, ranking = summary.get("validation"), summary["ranking"]
    if found is None or "frequency" not in ranking:
        return {}
    twins = iter(
        ", ".join(f"{one['feature']} ({one['correlation']:.2f})" for one in others)
        for others in found["twins"]
    )
    listed = [next(twins, None) if chosen else None for chosen in ranking["selected"]]
    more = [
        f"frequency {share:.2f}" + (f"; correlated with {others}" if others else "")
        for share, others in zip(ranking["frequency"], listed, strict=True)
    ]
    return {"twins": listed, "more": more}


def _cards(summary: Summary, columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table row and the figure of each of the best features."""
    profiles = summary["profiles"]
    if profiles is None or not profiles["features"] or not have_matplotlib():
        return []
    place = {name: row for row, name in enumerate(columns["feature"])}
    rows = _rows(columns, [place[one["feature"]] for one in profiles["features"]])
    pictures = profile_pictures(profiles)
    return [{**row, "picture": picture} for row, picture in zip(rows, pictures, strict=True)]


def render_page(template: str, package: str = "linkselect.report", **content: Any) -> str:
    """Render a template that extends `base.html`, including its styles and script.

    Parameters
    ----------
    template : str
        Name of a file in the `templates` folder of the package.
    package : str
        Package that contains the template. `base.html` is always taken from `linkselect.report`.
    **content
        Variables that are passed to the template.
    """
    try:
        from markupsafe import Markup

        environment = environment_of(package)
    except ImportError:
        raise ImportError(
            "A report needs jinja2, which is not installed: pip install 'linkselect[report]'"
        ) from None
    script = _packaged("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(
        **content,
        colours=picture_colours(),
        style=Markup(_packaged("page.css")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


@cache
def environment_of(package: str) -> Environment:
    """Return the Jinja environment of a package, which is cached with its templates."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("linkselect.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(score=_score_on_page, share=_share, p_text=p_text)
    environment.globals.update(many=many, pairs_text=pairs_text)
    as_json = {"sort_keys": True, "allow_nan": False, "separators": (",", ":")}
    environment.policies["json.dumps_kwargs"] = as_json
    return environment


def _packaged(name: str) -> str:
    return (files("linkselect.report") / "templates" / name).read_text(encoding="utf-8")


def _score_on_page(score: Score) -> str:
    """Format a score with four significant digits, exactly as page.js does."""
    text = score_text(score, 4, padded=True)
    return re.sub(r"e([+-])0*", r"e\1", text).replace("-", MINUS)


def _share(score: Score, worst: float, best: float) -> str:
    """Return the length of the bar behind a score, in percent of the bar of the best score."""
    if score is None or worst == best:
        return "0%"
    # Infinite scores get the full bar or none.
    share = (float(score) - worst) / (best - worst)
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"


def write_report(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write the HTML report of a summary to a file atomically.

    Parameters
    ----------
    summary : dict
        The result of `summarize`.
    path : str or path
        The output file. An existing file is replaced.
    """
    write_page(render(summary), path)


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write an HTML page to a file atomically."""
    with written_whole(path) as part:
        part.write_text(page, encoding="utf-8", newline="\n")
