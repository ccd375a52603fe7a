// What the server tells: how far a job is, and that the study was changed in another tab.
let source = null;

export function startEvents(refresh) {
  const study = document.body.dataset.study;
  if (!study || source) return;
  source = new EventSource(`/study/${study}/events`);
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
    if (doing && job.doing) doing.textContent = job.doing;
  });
  source.addEventListener("study", (event) => {
    const { number } = JSON.parse(event.data);
    setTimeout(() => { if (String(number) > "" && Number(document.body.dataset.version) < number) notice(refresh); }, 600);
  });
}

function notice(refresh) {
  if (document.querySelector(".notice")) return;
  const made = document.createElement("div"), said = document.createElement("span"), button = document.createElement("button");
  made.className = "notice";
  made.setAttribute("role", "status");
  said.textContent = document.body.dataset.stale;
  button.textContent = document.body.dataset.reload;
  button.addEventListener("click", () => { made.remove(); refresh(); });
  made.append(said, button);
  document.body.append(made);
}
