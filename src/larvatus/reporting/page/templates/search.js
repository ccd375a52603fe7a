document.querySelectorAll(".search").forEach(function (box) {
  var most = 100, built = false;
  function make(tag, text) {
    var made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function build() {
    if (built) return;
    built = true;
    var data = JSON.parse(box.dataset.figures), found = [];
    data.rows.forEach(function (row, i) {
      data.releases.forEach(function (release, j) {
        if (data.values[i][j] !== null) found.push([row, release, data.values[i][j] / 10000, (row + " " + release).toLowerCase()]);
      });
    });
    found.sort(function (a, b) { return b[2] - a[2]; });
    var label = make("label", "Find a " + data.what + " and a release "), input = make("input"), said = make("output");
    var scroll = make("div"), table = make("table"), caption = make("caption", box.dataset.caption), head = make("thead"), body = make("tbody");
    label.className = "filter";
    input.type = "search";
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", box.dataset.caption);
    head.append(make("tr"));
    [data.what, "release", data.tone].forEach(function (name, i) {
      var cell = make("th", name.charAt(0).toUpperCase() + name.slice(1));
      cell.scope = "col";
      if (i === 1) cell.className = "w";
      head.firstChild.append(cell);
    });
    function show() {
      var wanted = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      var kept = found.filter(function (one) { return wanted.every(function (word) { return one[3].includes(word); }); });
      body.replaceChildren.apply(body, kept.slice(0, most).map(function (one) {
        var line = make("tr"), name = make("th", one[0]), release = make("td", one[1]);
        name.scope = "row";
        release.className = "w";
        line.append(name, release, make("td", figureText(data.tone, one[2])));
        return line;
      }));
      said.textContent = kept.length > most ? "the " + most + " largest of " + kept.length.toLocaleString("en-GB") : kept.length + " found";
    }
    input.addEventListener("input", show);
    label.append(input, said);
    table.append(caption, head, body);
    scroll.append(table);
    box.append(label, scroll);
    show();
  }
  var fold = box.closest("details");
  if (!fold || fold.open) build();
  else fold.addEventListener("toggle", build);
});
