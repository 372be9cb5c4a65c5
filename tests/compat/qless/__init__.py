"""Tests of the qless API: its document sentence by sentence, and later versions."""
