"""What is to do: options, requirements, the plan of a run, which cases, and when an operator is given up."""
