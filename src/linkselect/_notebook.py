"""HTML for notebooks, with colours that are inherited from the notebook."""

from collections.abc import Collection, Iterable, Sequence
from html import escape

# Text and lines inherit their colour, so that they suit light and dark themes.
STYLE = """<style>
.linkselect-view { color: inherit; background: transparent; line-height: 1.45; max-width: 100%;
  overflow-x: auto; margin: .25em 0; }
.linkselect-view p { margin: .2em 0 .4em; }
.linkselect-view table { border-collapse: collapse; border: 0; margin: .2em 0 .4em; color: inherit;
  background: transparent; font-size: inherit; font-variant-numeric: tabular-nums; }
.linkselect-view tr, .linkselect-view tr:nth-child(even), .linkselect-view tr:hover {
  background: transparent; color: inherit; }
.linkselect-view th, .linkselect-view td { border: 0; padding: .15em .9em .15em 0; color: inherit;
  text-align: right; vertical-align: baseline; max-width: 30em; overflow-wrap: anywhere; }
.linkselect-view th { font-weight: 600; border-bottom: 1px solid; }
.linkselect-view .left { text-align: left; }
.linkselect-view .faint { opacity: .7; }
</style>"""


def panel(title: str, *parts: str) -> str:
    """Combine a title and pieces of HTML; only the title is escaped.

    Examples
    --------
    >>> panel("a < b").splitlines()[-1]
    '<div class="linkselect-view"><p><strong>a &lt; b</strong></p></div>'
    """
    head = f"<p><strong>{escape(title)}</strong></p>"
    return f'{STYLE}\n<div class="linkselect-view">{head}{"".join(parts)}</div>'


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    left: Collection[int] = (),
    note: str = "",
) -> str:
    """Return an HTML table with escaped text.

    Parameters
    ----------
    header : sequence of str
        The names of the columns.
    rows : iterable of sequences
        The cells, which are converted to text.
    left : collection of int
        The indices of the left-aligned columns.
    note : str
        A line of text below the table.

    Examples
    --------
    >>> table(["feature"], [["<b>"]])
    '<table><thead><tr><th>feature</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """

    def line(cells: Sequence[object], tag: str) -> str:
        sides = (' class="left"' if place in left else "" for place in range(len(cells)))
        written = (
            f"<{tag}{side}>{escape(str(cell))}</{tag}>"
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    below = f'<p class="faint">{escape(note)}</p>' if note else ""
    return f"<table><thead>{line(header, 'th')}</thead><tbody>{body}</tbody></table>{below}"
