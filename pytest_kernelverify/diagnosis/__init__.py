"""What kind of wrong, where, and how to see it again."""
