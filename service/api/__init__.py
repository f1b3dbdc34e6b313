"""HTTP: endpoints, their schemas, problems and streams."""
