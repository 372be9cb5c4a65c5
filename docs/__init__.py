"""The documents; some of them are made from the code by docs.generate."""
