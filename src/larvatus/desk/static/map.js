// A point of the map leads to the card of its release, by mouse or keyboard.
const STEP = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function startMap() {
  document.querySelectorAll(".map svg").forEach((svg) => {
    const points = [...svg.querySelectorAll(".point")].sort((a, b) => numberOf(a) - numberOf(b));
    svg.setAttribute("role", "group"); // an image would hide its points from screen readers
    points.forEach((point, i) => {
      point.setAttribute("role", "button");
      point.setAttribute("aria-label", point.querySelector("title")?.textContent ?? "");
      point.setAttribute("tabindex", i ? -1 : 0);
      point.addEventListener("click", () => showCard(numberOf(point)));
      point.addEventListener("keydown", (event) => {
        const step = STEP[event.key];
        if (event.key === "Enter" || event.key === " ") showCard(numberOf(point));
        else if (step) focusOn(points, (i + step + points.length) % points.length);
        else return;
        event.preventDefault();
      });
    });
  });
}

function numberOf(point) {
  return parseInt(point.querySelector("title")?.textContent ?? "", 10);
}

function focusOn(points, place) {
  points.forEach((point, i) => point.setAttribute("tabindex", i === place ? 0 : -1));
  points[place].focus();
}

function showCard(number) {
  const card = document.getElementById(`release-${number}`), drawn = document.getElementById(`pictures-${number}`);
  if (!card) return;
  document.querySelectorAll(".card.chosen").forEach((c) => c.classList.remove("chosen"));
  card.classList.add("chosen");
  if (drawn) drawn.open = true;
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "center" });
}

// The sliders show at once which releases would stay below them; the server judges when one is let go.
document.addEventListener("input", (event) => {
  if (event.target.id !== "above" && event.target.id !== "loss") return;
  const points = JSON.parse(document.querySelector("figure.map").dataset.points);
  const risk = limitOf("above"), loss = limitOf("loss");
  const low = new Set(points.filter((p) => p.excess !== null && p.excess <= risk && (p.loss ?? 0) <= loss).map((p) => p.number));
  document.querySelectorAll(".map .point").forEach((point) => {
    point.classList.toggle("dimmed", !low.has(numberOf(point)));
  });
});

function limitOf(id) { // a slider at its right end sets no limit
  const slider = document.getElementById(id);
  return slider.value === slider.max ? Infinity : Number(slider.value) / 100;
}
