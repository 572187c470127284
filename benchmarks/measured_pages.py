"""Write tables between their marks on a page."""

import re


def put(page, mark, lines):
    """Replace the text between two marks."""
    pattern = rf"(<!-- measured: {mark} -->\n).*?(<!-- end -->)"
    text = "\n".join(lines) + "\n"
    new, count = re.subn(pattern, lambda found: found[1] + text + found[2], page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"The page has {count} places marked {mark!r}; expected one.")
    return new


def show(tables, path, write):
    """Print tables, and with `write` put each between its marks on a page."""
    print("\n\n".join("\n".join(lines) for lines in tables.values()))
    if write:
        page = path.read_text(encoding="utf-8")
        for mark, lines in tables.items():
            page = put(page, mark, lines)
        path.write_text(page, encoding="utf-8")
