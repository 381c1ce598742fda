"""What reports say, as values: pure functions from results to rows of harmless text in the chosen language."""

from pitstop.report.content.page import ProfilePage, TunePage, profile_page, tune_page

__all__ = ["ProfilePage", "TunePage", "profile_page", "tune_page"]
