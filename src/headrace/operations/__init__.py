"""Operations: sans-I/O generators that the sync and the async client share."""
