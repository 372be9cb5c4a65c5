"""The words of older queues, on this one: thin faces without keys or state of their own."""
