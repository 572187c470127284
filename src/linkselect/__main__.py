"""Run the command-line interface with `python -m linkselect`."""

from linkselect.cli import main

if __name__ == "__main__":
    main()
