"""The four papers, one module each."""
