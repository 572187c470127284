"""Pictures: a fitted selector or a result becomes Axes."""
