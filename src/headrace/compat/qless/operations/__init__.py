"""The operations behind the methods of the Qless classes."""
