"""References of the recurrent networks: a loop over the steps of sequences (layer), numbers with their errors (computed), and a cell each."""
