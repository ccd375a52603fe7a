"""The study as a script in Python: what the desk does, for those who go on by script."""

from __future__ import annotations

from larvatus.desk.root_folder import SECRET_FILE
from larvatus.desk.study_folder import RESULTS, STUDY_FILE, StudyFolder

_HEAD = '''"""Carry out the study of the desk again. Run it in the folder of the study: python study.py"""

from pathlib import Path

import larvatus as lv

study = lv.Study.read("{study}")
secret = Path("{secret}").read_bytes().removesuffix(b"\\n")  # the same secret gives the same releases, byte for byte
comparison = lv.run(study, "{results}-by-script", secret=secret)
print(comparison.headline())
'''


def script_of(study: StudyFolder) -> str:
    """A script that runs the study file with the secret of the study; the secret itself is not in it."""
    steps = "".join(f"#   {line}\n" for line in study.text().splitlines())
    return _HEAD.format(study=STUDY_FILE, secret=SECRET_FILE, results=RESULTS) + f"\n# The study:\n#\n{steps}"
