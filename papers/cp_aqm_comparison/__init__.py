"""The comparison that the authors of CP-AQM ask for."""
