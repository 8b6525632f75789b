"""The service: small, sleeps a lot, the only writer. `service.serve` is its whole life; it never imports a model library."""
