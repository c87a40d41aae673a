"""What tests share, by name."""
