"""The rules of the desk's safety: for each, its code, that code without the rule, and the test that must fail then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import larvatus

PACKAGE = Path(larvatus.__file__).parent
TESTS = Path(__file__).parent


@dataclass(frozen=True)
class Rule:
    """A line of the desk that keeps it safe. `without` is the line without the rule; `test` is the one that notices."""

    name: str
    file: str
    code: str
    without: str
    test: str = ""

    def source(self) -> str:
        return (PACKAGE / "desk" / self.file).read_text(encoding="utf-8")


def package_without(rule: Rule, folder: Path) -> Path:
    """A copy of the package in which a rule is removed: links to all of it, and the changed part."""
    package = folder / "larvatus"
    package.mkdir(parents=True)
    for part in PACKAGE.iterdir():
        if part.name not in ("desk", "__pycache__"):
            (package / part.name).symlink_to(part)
    shutil.copytree(PACKAGE / "desk", package / "desk", ignore=shutil.ignore_patterns("__pycache__"))
    changed = rule.source().replace(rule.code, rule.without)
    (package / "desk" / rule.file).write_text(changed, encoding="utf-8")
    return folder


def run_without(rule: Rule, folder: Path, *chosen: str) -> subprocess.CompletedProcess[str]:
    """Run tests of this folder with a rule removed."""
    place = package_without(rule, folder)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=line", *chosen],
        cwd=TESTS.parent.parent, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.fspath(place), "PYTHONDONTWRITEBYTECODE": "1"},
    )


RULES = (
    # --- the address -------------------------------------------------------------------------------------------------------
    Rule("loopback only", "server.py", '"127.0.0.1"', '"0.0.0.0"'),
    Rule("loopback only, IPv6", "server.py", '"::1"\n', '"::"\n'),
    Rule("both loopback addresses", "server.py", "        if not _has_loopback_6():\n", "        if True:\n"),
    Rule("the port is held from the start", "server.py", "made.listen()  #", "#"),
    Rule("a random name", "server.py", "secrets.token_hex(6)", "'0123456789ab'"),
    Rule("a cookie of this desk", "server.py", "f\"larvatus-{name.partition('.')[0]}\"", '"larvatus"'),
    Rule("host", "guard.py", 'if headers.getlist("host") != [self.host]:', "if False:"),
    Rule("one host", "guard.py", 'headers.getlist("host") != [self.host]', 'self.host not in headers.getlist("host")'),
    Rule("known methods", "guard.py", 'if method not in ("GET", "HEAD", "POST"):', "if False:"),
    # --- other sites -------------------------------------------------------------------------------------------------------
    Rule("origin of a post", "guard.py", "(origin == self.origin and site", "(site"),
    Rule("site of a post", "guard.py", 'and site in ("none", "same-origin"))', "and site)"),
    Rule("site of a get", "guard.py", 'return site in ("none", "same-origin") or entering', "return True"),
    Rule("a site is the desk or none", "guard.py", 'return site in ("none", "same-origin")',
         'return site in ("none", "same-origin", "same-site")'),
    Rule("the length is stated", "guard.py", 'if "transfer-encoding" in headers:', "if False:"),
    Rule("a length is a number", "guard.py", "(not length.isdigit() or (", "(((length or '0').lstrip('-')).isdigit() and ("),
    Rule("a largest form", "guard.py", "int(length) > LARGEST_FORM", "False"),
    Rule("no framing", "guard.py", "frame-ancestors 'none'\"\n)\nREPORT", "\"\n)\nREPORT"),
    Rule("no framing in old browsers", "guard.py", '"x-frame-options": "DENY"', '"x-frame-options": "SAMEORIGIN"'),
    Rule("scripts of the desk only", "guard.py", "script-src 'self'", "script-src 'self' 'unsafe-inline'"),
    Rule("styles of the desk only", "guard.py", "style-src 'self'", "style-src 'self' 'unsafe-inline'"),
    Rule("nothing by default", "guard.py", "\"default-src 'none'; script-src 'self'", "\"script-src 'self'"),
    Rule("forms are sent to the desk only", "guard.py", "form-action 'self'; ", ""),
    Rule("no base", "guard.py", "base-uri 'none'; frame-ancestors 'none'\"\n)\nREPORT", "frame-ancestors 'none'\"\n)\nREPORT"),
    Rule("requests to the desk only", "guard.py", "connect-src 'self'", "connect-src *"),
    Rule("nothing is stored", "guard.py", '"cache-control": "no-store", ', ""),
    Rule("types are not guessed", "guard.py", '"x-content-type-options": "nosniff", ', ""),
    Rule("addresses stay here", "guard.py", '"referrer-policy": "same-origin"', '"referrer-policy": "unsafe-url"'),
    Rule("no window of others", "guard.py", '"cross-origin-opener-policy": "same-origin", ', ""),
    Rule("no part of other sites", "guard.py", '"cross-origin-resource-policy": "same-origin", ', ""),
    Rule("reports in a sandbox", "guard.py", '"sandbox allow-scripts allow-popups; ', '"'),
    Rule("reports of no origin", "guard.py", "sandbox allow-scripts", "sandbox allow-same-origin allow-scripts"),
    Rule("reports send no forms", "guard.py", "form-action 'none'; ", ""),
    Rule("reports load nothing", "guard.py", "allow-popups; default-src 'none'", "allow-popups; default-src *"),
    Rule("the policy of reports is sent", "app.py", ', headers={"content-security-policy": REPORT_POLICY})', ")"),
    Rule("errors are not logged", "guard.py", '            if os.environ.get("LARVATUS_DEBUG"):\n', "            if True:\n"),
    # --- the token and the cookie ------------------------------------------------------------------------------------------
    Rule("a session", "guard.py", "not self.entrance.knows(_cookie(headers, self.cookie))", "False"),
    Rule("open addresses are whole", "guard.py", "path not in OPEN and", "not path.startswith(OPEN) and"),
    Rule("the open folder is a folder", "guard.py", '"/static/"', '"/static"'),
    Rule("a known session", "entrance.py", "for known in self._sessions) > 0", "for known in self._sessions) >= 0"),
    Rule("a token once", "entrance.py", "until, self._token = self._token[1], None", "until = self._token[1]"),
    Rule("a token for a minute", "entrance.py", "if self._now() > until:", "if False:"),
    Rule("the minute", "entrance.py", "LIFETIME = 60.0", "LIFETIME = 3600.0"),
    Rule("the right token", "entrance.py", "if self._token is None or not hmac.compare_digest(self._token[0], _digest(token)):",
         "if self._token is None:"),
    Rule("a wrong token leaves the right one", "entrance.py", "_digest(token)):\n            return None",
         "_digest(token)):\n            self._token = None\n            return None"),
    Rule("a token after the one before", "entrance.py", "self._token = (_digest(token), self._now() + LIFETIME)",
         "self._token = self._token or (_digest(token), self._now() + LIFETIME)"),
    Rule("few sessions", "entrance.py", "[-_MOST_SESSIONS:]", ""),
    Rule("a page for its owner", "entrance.py", "0o600", "0o644"),
    Rule("the token is posted", "entrance.py", '<form method="post"', "<form"),
    Rule("the page goes when it was used", "app.py", "            self.door.remove()\n", "            pass\n"),
    Rule("the page goes when it is old", "server.py", "        removal.start()\n", ""),
    Rule("a newer page stays", "server.py", "if door.path.exists() and door.path.stat().st_mtime_ns == written:", "if door.path.exists():"),
    Rule("the page goes with the desk", "server.py", "            finally:\n                self.door.remove()\n",
         "            finally:\n                pass\n"),
    Rule("no token in arguments", "server.py", "webbrowser.open(path.as_uri())",
         'webbrowser.open(f"{path.as_uri()}?{token}")'),
    Rule("no cookie for scripts", "app.py", "httponly=True", "httponly=False"),
    Rule("no cookie for other sites", "app.py", 'samesite="strict"', 'samesite="lax"'),
    Rule("a cookie until the browser ends", "app.py", 'path="/")\n        return answer', 'path="/", max_age=10**6)\n        return answer'),
    # --- what a request can do ---------------------------------------------------------------------------------------------
    Rule("browse is a post", "app.py", 'pages.browse, methods=["POST"]', "pages.browse"),
    Rule("open is a post", "app.py", 'pages.open_file, methods=["POST"]', "pages.open_file"),
    Rule("demo is a post", "app.py", 'pages.open_demo, methods=["POST"]', "pages.open_demo"),
    Rule("upload is a post", "app.py", 'pages.upload, methods=["POST"]', "pages.upload"),
    Rule("language is a post", "app.py", 'pages.set_language, methods=["POST"]', "pages.set_language"),
    Rule("undo is a post", "app.py", 'pages.go_in_history, methods=["POST"]', "pages.go_in_history"),
    Rule("orders are posts", "app.py", 'pages.order, methods=["POST"]', "pages.order"),
    Rule("actions are posts", "app.py", 'pages.act, methods=["POST"]', "pages.act"),
    Rule("a change is of the current study", "app.py",
         'if form.get("version", [""])[0] != str(study.history.number):', "if False:"),
    Rule("undo is of the current study", "app.py",
         "            _check_version(study, form)\n        except StaleStudy", "            pass\n        except StaleStudy"),
    Rule("a known language", "app.py", "wanted if wanted in languages() else self.language", "wanted"),
    Rule("a known step after undo", "app.py", 'step = step if step in _PAGES else "open"\n', ""),
    Rule("a known step after an order", "app.py", 'step if step in _PAGES else "run"', "step"),
    Rule("known orders", "app.py", "if order not in _ORDERS:", "if False:"),
    Rule("a largest window of rows", "app.py", "min(int(count[:6]), _MOST_ROWS)", "int(count[:6])"),
    Rule("a window is of numbers", "app.py", "not (first.isdecimal() and count.isdecimal() and len(first) < 12)", "False"),
    Rule("a largest number of fields", "app.py", "max_num_fields=5000", "max_num_fields=None"),
    Rule("errors by their kind", "app.py", "kind=type(error).__name__", "kind=str(error)"),
    Rule("errors of jobs by their kind", "work/process.py", '"unexpected": type(error).__name__', '"unexpected": str(error)'),
    Rule("text is escaped", "rendering.py", "autoescape=True", "autoescape=False"),
    Rule("limits are shares", "page_request.py", "not 0 <= share <= 1:  #", "share < 0:  #"),
    Rule("limits are no less than nothing", "page_request.py", "not 0 <= share <= 1:  #", "share > 1:  #"),
    Rule("masks are steps", "forms.py", 'load("larvatus.masks", name)', '__import__("larvatus.masks." + name)'),
    Rule("an unsafe release needs a tick", "pages/decide_page.py", 'and not at.value("despite")', "and False"),
    Rule("an approval has a name and a reason", "pages/decide_page.py", "    if missing:\n", "    if False:\n"),
    # --- files -------------------------------------------------------------------------------------------------------------
    Rule("below the root", "root_folder.py", "if real != self.path and self.path not in real.parents:", "if False:"),
    Rule("links are resolved", "root_folder.py", "real = Path(os.path.realpath(path))\n        if real",
         "real = Path(os.path.normpath(path))\n        if real"),
    Rule("relative paths", "root_folder.py", ' or os.path.isabs(relative) or "\\\\" in relative', ""),
    Rule("paths are text", "root_folder.py", 'if "\\0" in relative or ', "if "),
    Rule("files of tables", "root_folder.py", "not path.is_file() or not path.name.lower().endswith(_TABLES)", "not path.is_file()"),
    Rule("plain files", "root_folder.py", "if not path.is_file() or not", "if not"),
    Rule("files that exist", "root_folder.py", "        if not path.exists():\n", "        if False:\n"),
    Rule("a table to open", "app.py", "self.desk.root.resolve_table(relative)", "self.desk.root.resolve(relative)"),
    Rule("a table to score", "pages/compare_page.py", "at.desk.root.resolve_table(", "at.desk.root.resolve("),
    Rule("a table to verify", "pages/decide_page.py", "at.desk.root.resolve_table(", "at.desk.root.resolve("),
    Rule("a manifest below the root", "pages/decide_page.py", "at.desk.root.check(path.with_name(", "(path.with_name("),
    Rule("hidden files are not listed", "root_folder.py", 'not found.name.startswith(".") and ', ""),
    Rule("codebooks are no data", "root_folder.py", " and not e.name.endswith(_NO_DATA)", ""),
    Rule("the secret is private", "root_folder.py", "if is_secret or STUDY_INNER", "if STUDY_INNER"),
    Rule("the secret in any case", "root_folder.py", "real.name.casefold() == SECRET_FILE", "real.name == SECRET_FILE"),
    Rule("notes of a study are private", "root_folder.py", "if is_secret or STUDY_INNER in (part.casefold() for part in real.parts):",
         "if is_secret:"),
    Rule("notes are private in any case", "root_folder.py", "(part.casefold() for part in real.parts)", "real.parts"),
    Rule("private files below the root", "root_folder.py", "        refuse_private(real)\n        return real", "        return real"),
    Rule("a source is not private", "desk.py", "        refuse_private(path)\n        if study.path in path.parents:\n            return",
         "        if study.path in path.parents:\n            return"),
    Rule("a source is below the root", "desk.py", "        return self.root.check(path)\n", "        return path\n"),
    Rule("files of a planted study", "desk.py", "                    self._check_files(made, made.plain)\n", ""),
    Rule("files of a changed study", "desk.py", "        self._check_files(study, plain)\n        study.change", "        study.change"),
    Rule("files of a job", "desk.py", "        self._check_files(study, study.plain)\n        return self.worker",
         "        return self.worker"),
    Rule("files of a run", "desk.py", "        self._check_files(study, study.plain)\n        if study.about",
         "        if study.about"),
    Rule("no addresses of databases", "desk.py", 'if "://" in name or study.path', "if study.path"),
    Rule("private files of a study", "desk.py", "            refuse_private(path)\n            if \"://\"", '            if "://"'),
    Rule("catalogs and passwords are files", "desk.py", ', plain.get("catalog"), plain.get("password_file")]', "]"),
    Rule("files of the intruder", "desk.py", 'found += [intruder.get("file"), *(n for n in intruder.get("other_releases", ()) '
         "if n not in releases)]", "pass"),
    Rule("taxonomies are files", "desk.py", 'found += list(roles.get("taxonomies", {}).values())', "pass"),
    Rule("lists of records are files", "desk.py", 'isinstance(where, str) and where.startswith("@")', "False"),
    Rule("searched releases name files", "desk.py", '*plain.get("release", ()), *plain.get("search", ())]',
         '*plain.get("release", ())]'),
    Rule("studies of the owner", "study_folder.py", "folder.stat().st_uid != os.getuid()", "False"),
    Rule("no studies behind links", "study_folder.py", "e.is_dir(follow_symlinks=False)", "e.is_dir()"),
    Rule("a folder for its owner", "study_folder.py", "path.mkdir(mode=0o700)", "path.mkdir(mode=0o755)"),
    Rule("notes for their owner", "study_folder.py", "(path / STUDY_INNER).mkdir(mode=0o700)", "(path / STUDY_INNER).mkdir()"),
    Rule("a secret for its owner", "study_folder.py", "replace_file(path, private=True) as temporary:\n                temporary.write_bytes",
         "replace_file(path) as temporary:\n                temporary.write_bytes"),
    Rule("findings for their owner", "study_folder.py", "replace_file(path, private=True) as temporary:\n        temporary.write_text",
         "replace_file(path) as temporary:\n        temporary.write_text"),
    Rule("a history for its owner", "history.py", "replace_file(path, private=True)", "replace_file(path)"),
    Rule("a preview for its owner", "work/preview_file.py", "0o600", "0o644"),
    Rule("reports in the study", "app.py", " or not study.holds(path)", ""),
    Rule("reports by name", "app.py", '_REPORTS.get(request.path_params["edition"], "")', 'request.path_params["edition"]'),
    Rule("files to share in the study", "pages/decide_page.py", "    if not at.study.holds(target):", "    if False:"),
    Rule("holds after all links", "study_folder.py", "in Path(os.path.realpath(path)).parents", "in path.parents"),
    Rule("plain names of files to share", "pages/decide_page.py", 'any(c in name for c in "/\\\\")', "False"),
    Rule("no hidden files to share", "pages/decide_page.py", ' or name.startswith(".")', ""),
    Rule("printable names of files to share", "pages/decide_page.py", "if not name.isprintable() or not 0", "if not 0"),
    Rule("short names of files to share", "pages/decide_page.py", "not 0 < len(name) <= _LONGEST_NAME", "not name"),
    Rule("known formats to share", "pages/decide_page.py", "    if format not in _formats(results_of(at.study)):\n", "    if False:\n"),
    # --- uploads -----------------------------------------------------------------------------------------------------------
    Rule("no folders in uploads", "uploads.py", '.replace("\\\\", "/").rpartition("/")[2]', ""),
    Rule("no hidden uploads", "uploads.py", '.strip().lstrip(".")', ".strip()"),
    Rule("printable uploads", "uploads.py", " if c.isprintable())", ")"),
    Rule("known kinds of uploads", "uploads.py", "    if suffix not in _ACCEPTED:\n", "    if False:\n"),
    Rule("short names of uploads", "uploads.py", "stem[:_LONGEST_NAME]", "stem"),
    Rule("uploads have something", "uploads.py", "    if expected <= 0:\n", "    if False:\n"),
    Rule("uploads are bounded", "uploads.py", "    if expected > min(largest, free):\n", "    if False:\n"),
    Rule("uploads leave room on the disk", "uploads.py", "min(largest, free)", "largest"),
    Rule("an upload is not larger than announced", "uploads.py", "                if received > expected:\n",
         "                if False:\n"),
    Rule("an upload is not smaller than announced", "uploads.py", "        if received != expected:\n", "        if False:\n"),
    Rule("a broken upload is removed", "uploads.py", "        target.unlink(missing_ok=True)\n", ""),
    Rule("an upload for its owner", "uploads.py", "0o600", "0o644"),
    # --- what is told ------------------------------------------------------------------------------------------------------
    Rule("no log of requests", "server.py", "access_log=False", "access_log=True"),
    Rule("no log at all", "server.py", "log_config=None, ", ""),
    Rule("no name of the server", "server.py", "server_header=False, ", ""),
    Rule("no file in a title", "templates/frame.html.j2", "{{ say('steps.' ~ step) }}{% endblock %}",
         "{{ study.name }}{% endblock %}"),
    Rule("private files go with the desk", "server.py", "        finally:\n            self.desk.private.close()\n",
         "        finally:\n            pass\n"),
    Rule("what a job found is not sent", "desk.py", '"left": job.left}', '"left": job.left, "found": str(job.found)}'),
    Rule("the secret is not in the script", "study_script.py", "secret=SECRET_FILE", "secret=study.secret_path().read_text()"),
)
