"""Contract suites and doubles, shipped for the authors of backends and adapters."""
