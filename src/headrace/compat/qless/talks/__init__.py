"""What is said in the words of qless, each written once for both colours."""
