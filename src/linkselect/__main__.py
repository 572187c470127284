"""Run the command line as `python -m linkselect`."""

from linkselect.cli import main

if __name__ == "__main__":
    main()
