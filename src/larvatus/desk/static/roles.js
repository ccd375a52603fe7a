// Rows of the table of columns can be dragged onto a role; the choice in the row does the same.
export function startRoles(send) {
  document.querySelectorAll("tr[draggable]").forEach((row) => {
    row.addEventListener("dragstart", (event) => { event.dataTransfer.setData("text/plain", row.dataset.column); row.classList.add("dragged"); });
    row.addEventListener("dragend", () => row.classList.remove("dragged"));
  });
  document.querySelectorAll(".bucket").forEach((bucket) => {
    bucket.addEventListener("dragover", (event) => { event.preventDefault(); bucket.classList.add("over"); });
    bucket.addEventListener("dragleave", () => bucket.classList.remove("over"));
    bucket.addEventListener("drop", (event) => {
      event.preventDefault();
      bucket.classList.remove("over");
      const name = event.dataTransfer.getData("text/plain");
      const row = [...document.querySelectorAll("tr[draggable]")].find((r) => r.dataset.column === name);
      if (!row) return;
      row.querySelector("select").value = bucket.dataset.role;
      send(row.querySelector("form"));
    });
  });
}
