"""The words of worqr: the drawings of its document, and each of its sentences."""
