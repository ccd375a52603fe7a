"""Where data lie and how the verbs are carried out: every file one engine."""
