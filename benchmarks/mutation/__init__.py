"""Small faults put into the code, to test the tests: `make mutants`."""
