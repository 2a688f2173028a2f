"""Cases from specs: tables, values, layouts, properties and negatives, and the pytest modules that carry them."""
