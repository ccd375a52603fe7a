// A point of the map leads to the card of its release.
export function startMap() {
  const points = document.querySelectorAll(".map .point");
  points.forEach((point) => {
    point.addEventListener("click", () => {
      const number = parseInt(point.querySelector("title")?.textContent ?? "", 10);
      const card = document.getElementById(`release-${number}`);
      if (!card) return;
      document.querySelectorAll(".card.chosen").forEach((c) => c.classList.remove("chosen"));
      card.classList.add("chosen");
      const drawn = document.getElementById(`pictures-${number}`);
      if (drawn) drawn.open = true;
      card.scrollIntoView({ block: "center" });
    });
  });
}

// The slider shows at once which releases would stay below it; the server judges when it is let go.
document.addEventListener("input", (event) => {
  if (event.target.id !== "above") return;
  const most = Number(event.target.value) / 100, points = JSON.parse(document.querySelector("figure.map").dataset.points);
  const low = new Set(points.filter((p) => p.excess !== null && p.excess <= most).map((p) => p.number));
  document.querySelectorAll(".map .point").forEach((point) => {
    const number = parseInt(point.querySelector("title")?.textContent ?? "", 10);
    point.classList.toggle("dimmed", !low.has(number));
  });
});
