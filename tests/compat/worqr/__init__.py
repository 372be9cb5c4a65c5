"""Tests of the worqr API: its document sentence by sentence, and later versions."""
