"""Templates, line breaks and the scalar helpers of emitted C++."""
