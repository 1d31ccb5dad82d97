"""A prediction as one HTML page: timeline, on-chip memories over time, roofline."""
