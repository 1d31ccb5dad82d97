"""Where keys and values are stored, and how a tile of them reaches the cube."""
