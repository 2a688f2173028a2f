"""What is written: files, whose errors name the file, and YAML."""
