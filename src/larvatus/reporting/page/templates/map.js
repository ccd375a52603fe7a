document.querySelectorAll("figure.map").forEach(function (figure) {
  var data = JSON.parse(figure.dataset.points);
  var space = figure.querySelector("svg").namespaceURI;
  var wide = 760, high = 460, left = 62, right = 740, top = 34, bottom = 408;
  var axes = {};
  data.axes.forEach(function (axis) { axes[axis.key] = axis; });
  var box = document.createElement("div");
  var controls = document.createElement("div");
  var hint = document.createElement("div");
  var said = document.createElement("p");
  var scroll = document.createElement("div");
  box.className = "live";
  controls.className = "controls";
  hint.className = "hint";
  hint.hidden = true;
  said.className = "quiet";
  said.setAttribute("role", "status");
  scroll.className = "scroll";

  function part(tag, attributes, inside) {
    var made = document.createElementNS(space, tag);
    Object.keys(attributes).forEach(function (name) { made.setAttribute(name, attributes[name]); });
    if (typeof inside === "string") made.textContent = inside;
    else (inside || []).forEach(function (one) { made.append(one); });
    return made;
  }
  function chooser(label, chosen) {
    var field = document.createElement("label");
    var list = document.createElement("select");
    ["risk", "loss"].forEach(function (kind) {
      var group = document.createElement("optgroup");
      group.label = kind === "risk" ? "Risk" : "Loss";
      data.axes.forEach(function (axis) {
        if (axis.kind !== kind) return;
        var option = new Option(axis.name, axis.key, false, axis.key === chosen);
        group.append(option);
      });
      if (group.children.length) list.append(group);
    });
    field.append(label + " ", list);
    controls.append(field);
    list.addEventListener("change", draw);
    return list;
  }
  function scale(values, from, to, share) {
    var most = Math.max.apply(null, values.concat(0));
    if (!(most > 1e-9)) most = 1;
    var rough = most / 5, power = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = [1, 2, 2.5, 5, 10].map(function (m) { return m * power; }).find(function (m) { return m >= rough * 0.999; });
    var end = step * Math.ceil(most / step - 1e-9), ticks = [];
    if (share && most <= 1) end = Math.min(end, 1);
    for (var i = 0; i * step <= end * 1.0001; i += 1) ticks.push(i * step);
    var unit = share ? 100 * step : step;
    var digits = 0;
    while (digits < 8 && Math.abs(unit - Number(unit.toFixed(digits))) > 1e-6 * unit) digits += 1;
    return {
      at: function (value) { return from + (to - from) * Math.min(Math.max(value / end, 0), 1); },
      ticks: ticks,
      text: function (value) { return share ? (100 * value).toFixed(digits) + "\u00a0%" : value.toFixed(digits); }
    };
  }
  function unbeaten(points) {
    var best = points.filter(function (p) {
      return !points.some(function (q) { return q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y); });
    });
    return best.sort(function (a, b) { return a.y - b.y || a.x - b.x; });
  }
  function told(point, x, y) {
    var ends = y.ends && y.ends[point.place], without = y.without && y.without[point.place];
    var lines = [point.number + ". " + point.name, "↑ " + y.name + ": " + figureText(y.kind, point.y)];
    if (ends) lines[1] += " (" + figureText(y.kind, ends[0]) + " to " + figureText(y.kind, ends[1]) + ")";
    if (without !== null && without !== undefined) lines.push("baseline: " + figureText(y.kind, without));
    lines.push("→ " + x.name + ": " + figureText(x.kind, point.x));
    return lines;
  }
  function labels(points, at, taken, first) {
    var busy = at.map(function (p) { return [p[0] - 6, p[1] - 6, p[0] + 6, p[1] + 6]; }).concat(taken), out = [];
    var order = points.map(function (point, i) { return i; });
    order.sort(function (a, b) { return (first.indexOf(points[a].number) < 0) - (first.indexOf(points[b].number) < 0) || points[a].y - points[b].y; });
    order.forEach(function (i) {
      var point = points[i];
      var short = point.name.length > 28 ? point.name.slice(0, 14) + "…" + point.name.slice(-12) : point.name;
      (points.length <= 12 ? [short, String(point.number)] : [String(point.number)]).some(function (text) {
        var width = 7.4 * text.length;
        return [
          [10, 4, "start"], [-10, 4, "end"], [9, -10, "start"], [-9, -10, "end"], [9, 19, "start"], [-9, 19, "end"],
          [0, -10.5, "middle"], [0, 19, "middle"], [0, -27, "middle"]
        ].some(function (to) {
          var x = at[i][0] + to[0], y = at[i][1] + to[1];
          var start = x - { start: 0, middle: width / 2, end: width }[to[2]];
          var room = [start - 3, y - 12, start + width + 3, y + 4];
          var free = room[0] >= left && room[2] <= wide && room[1] >= top - 8 && room[3] <= bottom && busy.every(function (b) {
            return room[0] >= b[2] || room[2] <= b[0] || room[1] >= b[3] || room[3] <= b[1];
          });
          if (free) {
            busy.push(room);
            out.push(part("text", { x: x, y: y, "class": "label name", "text-anchor": to[2], "aria-hidden": "true" }, text));
          }
          return free;
        });
      });
    });
    return out;
  }
  function show(mark, lines) {
    hint.replaceChildren.apply(hint, lines.map(function (line) {
      var row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    hint.hidden = false;
    var around = box.getBoundingClientRect(), here = mark.getBoundingClientRect();
    var x = here.left - around.left + here.width + 8;
    if (x + hint.offsetWidth > around.width) x = Math.max(0, here.left - around.left - hint.offsetWidth - 8);
    hint.style.left = x + "px";
    hint.style.top = here.top - around.top + here.height + 8 + "px";
  }
  function hide() { hint.hidden = true; }

  function draw() {
    var x = axes[across.value], y = axes[up.value], front = frontier.checked;
    var points = [];
    data.points.forEach(function (point, place) {
      if (x.values[place] === null || y.values[place] === null) return;
      points.push({ number: point.number, name: point.name, page: point.page, place: place, x: x.values[place], y: y.values[place] });
    });
    hide();
    var ends = [];
    points.forEach(function (p) {
      ends.push(p.y);
      if (y.ends && y.ends[p.place] && y.ends[p.place][1] !== null) ends.push(y.ends[p.place][1]);
      if (y.without && y.without[p.place] !== null) ends.push(y.without[p.place]);
    });
    var sx = scale(points.map(function (p) { return p.x; }), left + 14, right - 24, x.kind === "risk");
    var sy = scale(ends, bottom, top, y.kind === "risk");
    var inside = [];
    sy.ticks.forEach(function (t) {
      inside.push(part("line", { x1: left, x2: right, y1: sy.at(t), y2: sy.at(t), "class": "grid" }));
      inside.push(part("text", { x: left - 8, y: sy.at(t) + 4, "class": "tick", "text-anchor": "end" }, sy.text(t)));
    });
    sx.ticks.forEach(function (t) {
      inside.push(part("line", { x1: sx.at(t), x2: sx.at(t), y1: bottom, y2: bottom + 5, "class": "axis" }));
      inside.push(part("text", { x: sx.at(t), y: bottom + 20, "class": "tick", "text-anchor": "middle" }, sx.text(t)));
    });
    inside.push(part("line", { x1: left, x2: right, y1: bottom, y2: bottom, "class": "axis" }));
    inside.push(part("text", { x: left - 52, y: 16, "class": "axis-name" }, y.kind + ": " + y.name + " ↑"));
    inside.push(part("text", { x: right, y: high - 10, "class": "axis-name", "text-anchor": "end" }, x.kind + ": " + x.name + " →"));
    var taken = [];
    var known = (y.without || []).filter(function (v, place) { return v !== null && y.values[place] !== null; });
    if (known.length) {
      var base = Math.max.apply(null, known);
      inside.push(part("line", { x1: left, x2: right, y1: sy.at(base), y2: sy.at(base), "class": "reference alone" }));
      var named = (Math.min.apply(null, known) < base ? "baseline: at most " : "baseline: ") + figureText(y.kind, base);
      var long = 7.2 * named.length, places = [];
      [sy.at(base) - 5, sy.at(base) + 15].forEach(function (at) {
        [right - long, left + 4, (left + right - long) / 2].forEach(function (start) {
          var room = [start, at - 13, start + long, at + 4];
          var met = points.filter(function (p) {
            var e = (y.ends && y.ends[p.place]) || [p.y, p.y];
            var top = Math.min(sy.at(Math.max(p.y, e[1])), sy.at(p.y) - 6), foot = Math.max(sy.at(Math.min(p.y, e[0])), sy.at(p.y) + 6);
            return sx.at(p.x) + 6 > room[0] && sx.at(p.x) - 6 < room[2] && foot > room[1] && top < room[3];
          }).length;
          if (at + 4 <= bottom + 2) places.push([met, room, start, at]);
        });
      });
      places.sort(function (a, b) { return a[0] - b[0]; });
      taken.push(places[0][1]);
      inside.push(part("text", { x: places[0][2], y: places[0][3], "class": "tick name" }, named));
    }
    var best = unbeaten(points), numbers = best.map(function (p) { return p.number; });
    if (front && best.length) {
      var path = "M" + sx.at(best[0].x) + " " + sy.at(best[0].y);
      best.slice(1).forEach(function (p) { path += "V" + sy.at(p.y) + "H" + sx.at(p.x); });
      inside.push(part("path", { d: path, "class": "frontier" }));
    }
    points.forEach(function (p) {
      var e = y.ends && y.ends[p.place];
      if (e && e[1] > e[0]) inside.push(part("line", { x1: sx.at(p.x), x2: sx.at(p.x), y1: sy.at(e[0]), y2: sy.at(e[1]), "class": "whisker risk" }));
    });
    var marks = points.map(function (p, i) {
      var good = numbers.indexOf(p.number) >= 0;
      var lines = told(p, x, y);
      var name = lines.join("; ") + (good ? "; no other release beats it on both" : "");
      var mark = part("a", { href: p.page, tabindex: i ? -1 : 0, "aria-label": name, "data-number": p.number, "class": front && !good ? "dim" : "" }, [
        part("circle", { cx: sx.at(p.x), cy: sy.at(p.y), r: 12, "class": "reach" }),
        part("circle", { cx: sx.at(p.x), cy: sy.at(p.y), r: front && good ? 7 : 5, "class": good ? "point" : "point beaten" })
      ]);
      mark.addEventListener("mouseenter", function () { show(mark, lines); });
      mark.addEventListener("focus", function () { show(mark, lines); });
      mark.addEventListener("mouseleave", hide);
      mark.addEventListener("blur", hide);
      mark.addEventListener("keydown", function (event) {
        var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") hide();
        if (!step) return;
        event.preventDefault();
        var next = marks[(i + step + marks.length) % marks.length];
        marks.forEach(function (m) { m.setAttribute("tabindex", m === next ? 0 : -1); });
        next.focus();
      });
      return mark;
    });
    var at = points.map(function (p) { return [sx.at(p.x), sy.at(p.y)]; });
    inside = inside.concat(labels(points, at, taken, numbers), [part("g", { role: "group", "aria-label": "Releases; use the arrow keys to move between them and Enter to open the page of a release" }, marks)]);
    scroll.replaceChildren(part("svg", { viewBox: "0 0 " + wide + " " + high, width: wide, height: high }, inside));
    said.textContent = points.length + " of " + data.points.length + " releases are shown. On the frontier (no other release beats " +
      (best.length === 1 ? "it" : "them") + " on both axes): " + numbers.join(", ") + ".";
  }
  var up = chooser("Vertical axis", data.y), across = chooser("Horizontal axis", data.x);
  var frontier = document.createElement("input"), field = document.createElement("label");
  frontier.type = "checkbox";
  frontier.addEventListener("change", draw);
  field.append(frontier, " Highlight the frontier");
  controls.append(field);
  box.append(controls, scroll, hint, said);
  figure.append(box);
  figure.classList.add("is-live");
  draw();
});
function reveal() {
  var wanted = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!wanted) return;
  for (var fold = wanted.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  wanted.scrollIntoView();
  if (wanted.hasAttribute("tabindex")) wanted.focus({ preventScroll: true });
}
addEventListener("hashchange", reveal);
reveal();
