"""References of the normalizations: by mean and variance, by the response of a neighbourhood, by a norm, by numbers that are given."""
