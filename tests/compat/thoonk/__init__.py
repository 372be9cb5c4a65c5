"""Tests of the thoonk API: its document sentence by sentence, and later versions."""
