"""Reports: pages, plots and tables that people read."""

from sluicegate.report.page import Page

__all__ = ["Page"]
