"""The model of transactional writes from Spark."""
