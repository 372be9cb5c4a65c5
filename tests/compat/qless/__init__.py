"""qless on Headrace: each sentence of its document, in both colours."""
