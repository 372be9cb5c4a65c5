"""Programs that maintain this repository; nothing in the package imports them."""
