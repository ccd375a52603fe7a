"""One file per section of a report: what it says about which scores. Drawing belongs to figures."""
