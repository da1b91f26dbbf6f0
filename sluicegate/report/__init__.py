"""Reports: pages, plots and tables that people read."""
