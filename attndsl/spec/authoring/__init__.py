"""What an author writes: declarations and the vocabulary of attention. It builds graph nodes, and takes
``contract``."""
