"""A small application to look at: what `headrace demo` runs."""
