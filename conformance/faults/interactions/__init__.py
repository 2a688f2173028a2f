"""Faults that need two or three conditions at once: ``dmlcts faults conditions``.

``faults`` are what goes wrong, in any operator; ``conditions`` are over raw properties of a dispatch (``situation``); ``planting`` draws
both by seed. Random valid descs, wider than the cases (generator/random/random_dispatch), tell whether conditions can hold, and check survivors; ``hunting``
runs the cases in which a fault's conditions hold, and ``shares`` counts what they found.
"""
