// What the server tells: how far a job is, and that the study was changed in another tab.
let source = null;
const LOOK = 2000; // milliseconds

export function startEvents(refresh) {
  const study = document.body.dataset.study;
  if (!study || source) return;
  source = new EventSource(`/study/${study}/events`);
  setInterval(() => lookForEndedJobs(study, refresh), LOOK);
  source.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    const place = document.querySelector(`[data-job="${job.job}"]`);
    if (["done", "failed", "cancelled"].includes(job.state)) {
      if (place) refresh();
      return;
    }
    if (!place) return;
    const bar = place.querySelector("progress"), doing = place.querySelector(".doing");
    if (bar && job.total > 0) { bar.max = job.total; bar.value = job.done; }
    const list = place.querySelector(".pieces");
    if (list && job.pieces?.length) showPieces(list, job.pieces, doing);
    else if (doing && job.doing) doing.textContent = stageText(job.doing);
    const left = place.querySelector(".left");
    if (left) left.textContent = job.left === null ? "" : left.dataset.said.replace("{time}", duration(job.left, left.dataset));
  });
  source.addEventListener("study", (event) => {
    const { number } = JSON.parse(event.data);
    const look = () => { // a change of this tab is on its way as long as the page is busy
      if (document.body.classList.contains("busy")) setTimeout(look, 300);
      else if (Number(document.body.dataset.version) < number) notice(refresh);
    };
    setTimeout(look, 600);
  });
}

// A job can end while its page is on the way, and a connection can break: a page that still shows an ended job is loaded again.
async function lookForEndedJobs(study, refresh) {
  const places = [...document.querySelectorAll("[data-job]")].filter((place) => place.querySelector("progress"));
  if (!places.length || document.body.classList.contains("busy")) return;
  const answer = await fetch(`/study/${study}/jobs`).catch(() => null);
  if (!answer?.ok) return;
  const open = new Set((await answer.json()).map((job) => job.job));
  if (places.some((place) => place.isConnected && !open.has(place.dataset.job))) refresh();
}

// A line of progress with its beginning in the language of the page; names of methods stay as they are.
function stageText(line) {
  const stages = JSON.parse(document.body.dataset.stages), head = Object.keys(stages).find((s) => line === s || /^[ :,;]/.test(line.slice(s.length)) && line.startsWith(s));
  const said = (head ? stages[head] + line.slice(head.length) : line).replaceAll("_", " ");
  return said.replace(/: (\d+)$/, (_, n) => `: ${Number(n).toLocaleString(document.documentElement.lang)}`);
}

export function startStages() {
  document.querySelectorAll("[data-doing]").forEach((place) => { if (place.dataset.doing) place.textContent = stageText(place.dataset.doing); });
}

function duration(seconds, texts) {
  return seconds < 90 ? texts.seconds.replace("{n}", Math.max(5, 5 * Math.round(seconds / 5))) : texts.minutes.replace("{n}", Math.round(seconds / 60));
}

function showPieces(list, pieces, doing) {
  if (doing) doing.textContent = "";
  pieces.forEach(([name, done, total, now], i) => {
    let row = list.children[i];
    if (!row) {
      row = document.createElement("li");
      row.append(document.createElement("b"), document.createElement("progress"), document.createElement("span"));
      list.append(row);
    }
    const [title, bar, said] = row.children;
    title.textContent = name;
    bar.max = total;
    bar.value = done;
    bar.setAttribute("aria-label", name);
    said.textContent = done >= total ? "✓" : now.map(stageText).join(", ");
  });
  while (list.children.length > pieces.length) list.lastChild.remove();
}

function notice(refresh) {
  if (document.querySelector(".notice")) return;
  const made = document.createElement("div"), said = document.createElement("span"), button = document.createElement("button");
  made.className = "notice";
  made.setAttribute("role", "status");
  said.textContent = document.body.dataset.stale;
  button.textContent = document.body.dataset.reload;
  button.addEventListener("click", () => { made.remove(); refresh(true); });
  made.append(said, button);
  document.body.append(made);
}
