"""What all papers share: published figures, experiments by seed, verdicts, the page."""
