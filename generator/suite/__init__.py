"""All cases of an operator: their selection, the pin that says which they are, and the interactions that they lack."""
