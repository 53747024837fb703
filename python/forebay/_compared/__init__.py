"""What is made of a comparison: its tables, its maps and its report."""
