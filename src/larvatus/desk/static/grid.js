// The preview: only the rows in sight are in the page; others are fetched when they come into sight.
const HIGH = 28, WINDOW = 120, MOST = 8_000_000; // pixels of a row, rows of a window, pixels that browsers can scroll

export function startGrid() {
  const grid = document.getElementById("grid");
  if (!grid || grid.dataset.started) return;
  grid.dataset.started = "1";
  const rows = Number(grid.dataset.rows), table = grid.querySelector("table"), body = table.tBodies[0];
  const space = document.createElement("div");
  const full = rows * HIGH, scale = full > MOST ? full / MOST : 1;
  space.style.height = `${Math.ceil(full / scale)}px`;
  space.className = "space";
  table.after(space);
  table.style.position = "absolute";
  const labels = JSON.parse(grid.dataset.labels || "{}");
  let shown = -1, asked = 0;
  const last = () => Math.max(0, rows + 1 - Math.floor(grid.clientHeight / HIGH)); // the row at the top when all is scrolled
  const most = () => Math.ceil(full / scale) - grid.clientHeight;

  async function show() {
    const top = Math.max(0, Math.min(last(), Math.round((grid.scrollTop / Math.max(most(), 1)) * last())));
    const first = Math.max(0, Math.min(top - 30, rows - WINDOW));
    if (first === shown) return;
    const mine = ++asked;
    const answer = await fetch(`/study/${document.body.dataset.study}/rows?first=${first}&count=${WINDOW}`);
    if (!answer.ok || mine !== asked) return;
    const found = await answer.json();
    shown = first;
    body.replaceChildren(...found.rows.map((cells, i) => line(first + i, cells)));
    table.style.top = `${Math.max(0, grid.scrollTop - (top - first) * HIGH)}px`;
  }
  function line(number, cells) {
    const row = document.createElement("tr"), name = document.createElement("th");
    row.setAttribute("aria-rowindex", number + 2);
    name.scope = "row";
    name.className = "row";
    name.textContent = (number + 1).toLocaleString(document.documentElement.lang);
    row.append(name);
    for (const [place, cell] of cells.entries()) {
      const made = document.createElement("td");
      if (cell === null) { made.className = "none"; made.textContent = grid.dataset.missing; }
      else { made.textContent = cell; if (cell !== "" && !isNaN(cell)) made.className = "num"; }
      const label = cell !== null && labels[place] && Object.hasOwn(labels[place], cell) ? labels[place][cell] : "";
      if (label) {
        const said = document.createElement("span");
        said.className = "label";
        said.textContent = label;
        made.classList.remove("num");
        made.append(" ", said);
      }
      row.append(made);
    }
    return row;
  }
  let timer;
  grid.addEventListener("scroll", () => { clearTimeout(timer); timer = setTimeout(show, 40); });
  document.getElementById("jump").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = Math.max(1, Math.min(rows, Number(document.getElementById("row").value) || 1));
    grid.scrollTop = (Math.min(wanted - 1, last()) / Math.max(last(), 1)) * most();
    show();
  });
  show();
}
