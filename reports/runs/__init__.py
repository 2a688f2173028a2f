"""What is made of several runs: one record of their shards, or a page that sets them side by side."""
