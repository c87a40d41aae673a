"""What tests of programs are written with."""
