"""Reports as one offline HTML file each."""

from pitstop.report.html.page import profile_html, tune_html

__all__ = ["profile_html", "tune_html"]
