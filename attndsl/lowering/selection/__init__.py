"""Selection of key blocks: block scores, and the largest of them."""
