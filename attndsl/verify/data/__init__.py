"""The tensors of a case: values by what they are for, and where rows lie. It takes ``space``."""
