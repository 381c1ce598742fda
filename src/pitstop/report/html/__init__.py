"""Reports as one offline HTML file each."""

from pitstop.report.html.page import fit_html, profile_html, tune_html

__all__ = ["fit_html", "profile_html", "tune_html"]
