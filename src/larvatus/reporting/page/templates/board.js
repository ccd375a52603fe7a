(function () {
  var box = document.createElement("div"), now = null;
  box.className = "telltale";
  box.hidden = true;
  document.body.append(box);
  function hide() { box.hidden = true; now = null; }
  function show(term) {
    var said = document.getElementById(term.getAttribute("aria-describedby"));
    if (!said) return;
    now = term;
    box.textContent = said.textContent;
    box.hidden = false;
    var at = term.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    box.style.left = scrollX + Math.max(8, Math.min(at.left, wide - box.offsetWidth - 8)) + "px";
    box.style.top = scrollY + at.bottom + 6 + "px";
  }
  document.querySelectorAll(".term").forEach(function (term) {
    term.addEventListener("mouseenter", function () { show(term); });
    term.addEventListener("focus", function () { show(term); });
    term.addEventListener("click", function () { show(term); });
    term.addEventListener("keydown", function (event) {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(term);
    });
    term.addEventListener("mouseleave", hide);
    term.addEventListener("blur", hide);
  });
  addEventListener("keydown", function (event) { if (event.key === "Escape" && now) hide(); });
  var tools = document.querySelector(".appendix-tools");
  if (!tools) return;
  var label = document.createElement("label"), input = document.createElement("input"), said = document.createElement("output");
  var paper = document.createElement("button"), chapters = Array.from(document.querySelectorAll(".chapter"));
  input.type = "search";
  label.append("Search the appendix ", input);
  paper.type = "button";
  paper.textContent = "Print the appendix";
  tools.append(label, said, paper);
  tools.hidden = false;
  input.addEventListener("input", function () {
    var wanted = input.value.trim().toLowerCase(), left = 0;
    chapters.forEach(function (chapter) {
      var there = wanted !== "" && chapter.textContent.toLowerCase().includes(wanted);
      chapter.hidden = wanted !== "" && !there;
      chapter.open = there;
      if (there) left += 1;
      chapter.querySelectorAll("details").forEach(function (fold) {
        fold.open = there && fold.textContent.toLowerCase().includes(wanted);
      });
    });
    said.textContent = wanted ? left + " of " + chapters.length + " parts" : "";
  });
  paper.addEventListener("click", function () {
    document.body.classList.add("print-appendix");
    var opened = chapters.filter(function (chapter) { return !chapter.open; });
    opened.forEach(function (chapter) { chapter.open = true; });
    print();
    opened.forEach(function (chapter) { chapter.open = false; });
    document.body.classList.remove("print-appendix");
  });
})();
