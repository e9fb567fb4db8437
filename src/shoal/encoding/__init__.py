"""From values to codes and back: what methods see, and what is released of it."""
