"""DualPI2 by its authors: datagrams that answer nothing, and their paper's headline figures."""
