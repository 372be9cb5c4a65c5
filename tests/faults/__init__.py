"""What happens when things die."""
