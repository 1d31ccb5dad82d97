"""What a kernel takes: specialisation parameters, arguments, strides, numbers that only the host knows."""
