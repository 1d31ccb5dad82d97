"""What all lowering rules write with: the context, buffers, fields, rings, scalars of loops."""
