"""Reports: panels, tables and pages as data, and one drawing of them for every reader."""
