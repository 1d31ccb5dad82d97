"""The search for schedules: counted work, bounds, candidates, predictions for the best."""
