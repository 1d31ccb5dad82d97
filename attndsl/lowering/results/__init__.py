"""What leaves a kernel: finished rows, partials and their merge, row statistics."""
