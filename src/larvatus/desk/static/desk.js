// Forms are sent in the background and the page is replaced by the answer; focus and scroll position stay.
import { startGrid } from "./grid.js";
import { startEvents, startStages } from "./events.js";
import { startDrop } from "./drop.js";
import { startRoles } from "./roles.js";
import { startMap } from "./map.js";

const REPLACED = ["main", ".steps", ".toml", ".top"];
const TYPED = "input[type=text], input[type=number], input:not([type]), textarea";

function keyOf(element) {
  if (!element || element === document.body) return null;
  if (element.id) return "#" + CSS.escape(element.id);
  const label = element.getAttribute("aria-label");
  if (label) return `[aria-label="${CSS.escape(label)}"]`;
  const form = element.closest("form");
  return form && element.name ? `form[action="${CSS.escape(form.getAttribute("action"))}"] [name="${CSS.escape(element.name)}"]` : null;
}

function opened(root) {
  return [...root.querySelectorAll("details[id]")].filter((d) => d.open).map((d) => d.id);
}

let isReplacing = false; // a browser reports a change of the field that is taken away: half a word would be sent
export function replacePage(html, address, typed = typedNow()) {
  const made = new DOMParser().parseFromString(html, "text/html");
  const focused = keyOf(document.activeElement), open = opened(document), tomlOpen = document.querySelector(".toml details")?.open;
  const before = document.querySelector(".toml code")?.textContent;
  const held = document.activeElement, range = [held?.selectionStart ?? null, held?.selectionEnd ?? null];
  const same = made.body.dataset.step === document.body.dataset.step && made.body.className === document.body.className;
  if (made.body.className !== document.body.className) { location.assign(address); return; }
  isReplacing = typed !== null && same && made.querySelector(focused) !== null;
  for (const selector of REPLACED) {
    const old = document.querySelector(selector), fresh = made.querySelector(selector);
    if (old && fresh) old.replaceWith(document.adoptNode(fresh));
  }
  isReplacing = false;
  for (const name of Object.keys(made.body.dataset)) document.body.dataset[name] = made.body.dataset[name];
  document.title = made.title;
  document.querySelector(".notice")?.remove();
  if (address && new URL(address, location).pathname !== location.pathname) { history.pushState(null, "", address); shown = location.pathname; }
  for (const id of open) { const d = document.getElementById(id); if (d) d.open = true; }
  const toml = document.querySelector(".toml details");
  if (toml && tomlOpen !== undefined) toml.open = tomlOpen;
  markChanges(before);
  start();
  const again = same && focused ? document.querySelector(focused) : null;
  if (again) { again.focus({ preventScroll: true }); keepTyped(again, typed); keepSelected(again, range); }
  else if (!same) { window.scrollTo(0, 0); document.querySelector("main")?.focus({ preventScroll: true }); }
  const alert = document.querySelector("[aria-invalid=true]") ?? document.querySelector("#alerts .alert");
  if (alert) alert.scrollIntoView({ block: "nearest" });
}

// What someone typed while a form was on its way stays; what was sent is shown as the answer has it.
function typedNow(action = "", sent = null) {
  const field = document.activeElement, form = field?.closest("form");
  const isSent = sent?.get(field.name) === field.value && form?.getAttribute("action") === action
    && [...form.querySelectorAll("input[type=hidden]:not([name=version])")].every((hidden) => sent.get(hidden.name) === hidden.value);
  return isTyped(field) && !isSent ? field.value : null;
}

function keepTyped(field, value) {
  if (value === null || !field.matches(TYPED) || field.value === value) return;
  let noticed = false;
  field.value = value;
  field.addEventListener("change", () => { noticed = true; });
  field.addEventListener("blur", () => { // the browser reports no change of a value that a script put there
    if (!noticed && field.value !== field.defaultValue) field.dispatchEvent(new Event("change", { bubbles: true }));
  }, { once: true });
}

// What someone has selected is what the next key replaces.
function keepSelected(field, [start, end]) {
  if (start !== null && (field.selectionStart ?? null) !== null) field.setSelectionRange(start, end);
}

function markChanges(before) {
  const code = document.querySelector(".toml code");
  if (!code || before === undefined || before === code.textContent) return;
  const old = new Set(before.split("\n")), lines = code.textContent.split("\n");
  code.replaceChildren(...lines.flatMap((line, i) => {
    const end = i + 1 < lines.length ? "\n" : "";
    if (old.has(line)) return [line + end];
    const mark = document.createElement("mark");
    mark.textContent = line;
    return [mark, end];
  }));
  code.querySelector("mark")?.scrollIntoView({ block: "nearest" });
}

function warn(text) {
  const place = document.getElementById("alerts"), box = document.createElement("div"), said = document.createElement("p");
  if (!place || !text) return;
  box.className = "alert bad";
  said.textContent = text;
  box.append(said);
  place.replaceChildren(box);
  box.scrollIntoView({ block: "nearest" });
}

let waiting = Promise.resolve();
export function send(form, asked = true) {
  const action = form.getAttribute("action"), fields = new URLSearchParams(new FormData(form));
  for (const slider of form.querySelectorAll("input[type=range]")) if (slider.value === slider.max) fields.set(slider.name, ""); // no limit
  waiting = waiting.then(async () => {
    if (fields.has("version")) fields.set("version", document.body.dataset.version);
    document.body.classList.add("busy");
    try {
      const answer = await fetch(action, { method: "POST", body: fields, credentials: "same-origin" });
      const html = await answer.text();
      if (answer.headers.get("content-type")?.startsWith("text/html")) {
        document.body.classList.remove("busy");
        if (!asked && isBeingEdited()) refreshLater();
        else replacePage(html, answer.redirected ? answer.url : location.href, typedNow(action, fields));
      } else warn(document.body.dataset.refused);
    } catch { warn(document.body.dataset.gone); // the desk has ended; later clicks are tried again
    } finally { document.body.classList.remove("busy"); }
  });
  return waiting;
}

// The page as it is now, after what is being sent. Unless asked for, it does not replace what someone types or has to correct.
let later = 0;
function refreshLater() { clearTimeout(later); later = setTimeout(refresh, 1000); }
export function refresh(asked = false) {
  const isEdited = () => !asked && isBeingEdited();
  waiting = waiting.then(async () => {
    if (isEdited()) { refreshLater(); return; }
    const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (!answer?.ok) return;
    const html = await answer.text();
    if (isEdited()) refreshLater();
    else replacePage(html, location.href);
  });
  return waiting;
}

function isTyped(field) { return Boolean(field?.matches(TYPED)) && field.value !== field.defaultValue; }

function isBeingEdited() { return isTyped(document.activeElement) || document.querySelector("[aria-invalid=true]") !== null; }

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-live]")) return;
  event.preventDefault();
  send(event.target);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("select[aria-describedby]")) describeChoice(event.target);
  if (event.target.matches("[data-submit]") && !isReplacing) event.target.form.requestSubmit();
  if (event.target.matches("[data-language]")) {
    fetch("/language", { method: "POST", body: new URLSearchParams({ language: event.target.value }) }).then(() => location.reload());
  }
});
document.addEventListener("input", (event) => {
  const shown = event.target.dataset?.shown;
  if (shown) document.getElementById(shown).textContent = event.target.value === event.target.max ? event.target.dataset.none : Number(event.target.value).toLocaleString(document.documentElement.lang);
});
let shown = location.pathname;
window.addEventListener("popstate", () => { if (location.pathname !== shown) location.reload(); });

function showCurrentStep() { // on a narrow screen the steps are scrolled
  const steps = document.querySelector(".steps"), now = steps?.querySelector("[aria-current]");
  if (now) steps.scrollLeft = now.offsetLeft + now.offsetWidth / 2 - steps.clientWidth / 2;
}

function describeChoice(select) { // what the chosen option means, below its list
  const place = document.querySelector(`[data-of="${select.id}"]`);
  if (place) place.textContent = select.selectedOptions[0]?.title ?? "";
}

function start() {
  document.querySelectorAll("select[aria-describedby]").forEach(describeChoice);
  startGrid();
  startDrop();
  startRoles(send);
  startMap();
  startStages();
  showCurrentStep();
  document.querySelectorAll("[aria-invalid=true]").forEach(showWithin);
  document.querySelectorAll("form[data-auto]").forEach((form) => { form.removeAttribute("data-auto"); send(form, false); });
}

function showWithin(field) { // a field that has to be corrected is never folded away
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

// What was chosen or typed before this script was loaded would be shown and not sent.
function isChanged(control) {
  if (control.matches(TYPED)) return isTyped(control) && control !== document.activeElement;
  if (control.type === "checkbox") return control.checked !== control.defaultChecked;
  if (!control.options) return false;
  const own = [...control.options].find((option) => option.defaultSelected) ?? control.options[0];
  return own !== undefined && !own.selected;
}

if ("inside" in document.body.dataset) location.replace("/");
start();
new Set([...document.querySelectorAll("[data-submit]")].filter(isChanged).map((control) => control.form)).forEach((form) => form.requestSubmit());
startEvents(refresh);
