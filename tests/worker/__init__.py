"""Tests of workers, mostly as real processes against real servers."""
