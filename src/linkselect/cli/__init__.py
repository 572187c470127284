"""The command line. Each command imports what it needs, so that help answers at once."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        import cyclopts
    except ImportError:
        sys.exit("The command line needs more packages: pip install 'linkselect[cli]'")
    app = cyclopts.App(
        name="linkselect",
        help="Select features from must-link and cannot-link pairs, a few labels, or none.",
    )
    # By name, so that asking for help imports no command.
    for command in ("demo", "reproduce"):
        app.command(f"linkselect.cli.{command}:{command}", name=command)
    app()
