"""An app with telemetry for the tests."""
