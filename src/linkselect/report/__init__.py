"""Reports: plain data becomes one self-contained page."""
