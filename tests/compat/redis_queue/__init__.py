"""Tests of the redis-queue API: its document sentence by sentence, and later versions."""
