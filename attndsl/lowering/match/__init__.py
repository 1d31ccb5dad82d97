"""What a graph computes, as attentions with modifiers; the schedule options that follow or are free."""
