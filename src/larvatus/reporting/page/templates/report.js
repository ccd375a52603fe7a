function figureText(kind, value) {
  if (value === null) return "unknown";
  if (kind === "risk" && value <= 1) return (100 * value).toFixed(value && value < 0.01 ? 2 : 1) + "\u00a0%";
  return Math.abs(value) < 1e-9 ? "0" : Math.abs(value) < 0.001 ? "below 0.001" : value.toFixed(3);
}
document.querySelectorAll(".table").forEach(function (box) {
  var rows = Array.from(box.querySelectorAll("tbody tr"));
  if (rows.length < 15) return;
  var label = document.createElement("label");
  var input = document.createElement("input");
  var said = document.createElement("output");
  label.className = "filter";
  input.type = "search";
  label.append("Filter rows ", input, said);
  box.prepend(label);
  input.addEventListener("input", function () {
    var wanted = input.value.trim().toLowerCase();
    var left = 0;
    rows.forEach(function (row) {
      row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) left += 1;
    });
    said.textContent = wanted ? left + " of " + rows.length : "";
  });
});
var opened = [];
addEventListener("beforeprint", function () {
  opened = Array.from(document.querySelectorAll("details:is(.whole, .worst):not([open])"));
  opened.forEach(function (fold) { fold.open = true; });
});
addEventListener("afterprint", function () {
  opened.forEach(function (fold) { fold.open = false; });
});
