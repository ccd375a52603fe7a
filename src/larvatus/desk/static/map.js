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
      card.scrollIntoView({ block: "center" });
    });
  });
}
