"""Models of the engine, and tests that compare the scripts with them."""
