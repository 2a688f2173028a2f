"""Reports of a search for failing graphs: the drawing of a graph, and the page."""
