"""The site: ``python -m docs`` builds it."""
