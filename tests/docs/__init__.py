"""What documents say, made from the code and held against it."""
