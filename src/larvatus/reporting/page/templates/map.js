document.querySelectorAll("figure.map").forEach(function (figure) {
  var data = JSON.parse(figure.dataset.points);
  var space = figure.querySelector("svg").namespaceURI;
  var axes = {}, size = 0, frame = data.frames[0], places = data.places;
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
  function written(texts, x, y, name, anchor) {
    return part("text", { x: x, y: y, "class": name, "text-anchor": anchor || "start" }, texts.map(function (text, i) {
      return part("tspan", { x: x, dy: i ? places.line : 0 }, text);
    }));
  }
  function chooser(label, chosen) {
    var field = document.createElement("label");
    var list = document.createElement("select");
    ["risk", "loss"].forEach(function (kind) {
      var group = document.createElement("optgroup");
      group.label = kind === "risk" ? "Risk" : "Loss";
      data.axes.forEach(function (axis) {
        if (axis.kind === kind) group.append(new Option(axis.option || axis.name, axis.key, false, axis.key === chosen));
      });
      if (group.children.length) list.append(group);
    });
    field.append(label + " ", list);
    controls.append(field);
    list.addEventListener("change", draw);
    return list;
  }
  function unbeaten(points) {
    var best = points.filter(function (p) {
      return !points.some(function (q) { return q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y); });
    });
    return best.sort(function (a, b) { return a.y - b.y || a.x - b.x; });
  }
  function told(point, x, y) {
    var without = y.without && y.without[point.place];
    var rows = [point.number + ". " + point.name, "↑ " + y.name + ": " + y.said[point.place]];
    if (without) rows.push("baseline: " + without);
    rows.push("→ " + x.name + ": " + x.said[point.place]);
    return rows;
  }
  function meets(a, b) { return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]; }
  // Names, or numbers if a name finds no place, next to their points; a point without a free place keeps its hint only.
  function labels(svg, points, first, busy) {
    var half = places.point;
    busy = busy.concat(points.map(function (p) { return [p.px - half, p.py - half, p.px + half, p.py + half]; }));
    points.slice().sort(function (a, b) {
      return (b.favourite - a.favourite) || ((first.indexOf(a.number) < 0) - (first.indexOf(b.number) < 0)) || a.y - b.y;
    }).forEach(function (p) {
      (p.named ? [p.name, String(p.number)] : [String(p.number)]).some(function (text) {
        var wide = text.length * places.letter;
        return places.near.some(function (to) {
          var x = p.px + to[0], y = p.py + to[1], start = x - { start: 0, middle: wide / 2, end: wide }[to[2]];
          var room = [start - 1, y - places.above, start + wide + 1, y + places.below];
          if (room[0] < frame.left + 2 || room[2] > frame.right || room[1] < frame.top + 2 || room[3] > frame.bottom - 1) return false;
          if (busy.some(function (b) { return meets(room, b); })) return false;
          busy.push(room);
          var label = written([text], x, y, "label name", to[2]);
          label.setAttribute("aria-hidden", "true");
          svg.append(label);
          return true;
        });
      });
    });
  }
  function show(mark, rows) {
    hint.replaceChildren.apply(hint, rows.map(function (line) {
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

  // The drawing of the page for its own axes, with points that can be reached and opened.
  function pageDrawing(x, y, points, numbers) {
    var svg = figure.querySelector(".static " + (size ? ".at-narrow" : ".at-wide") + " svg").cloneNode(true);
    svg.querySelectorAll(":scope > title, :scope > desc").forEach(function (words) { words.remove(); });
    svg.querySelectorAll(".label").forEach(function (label) { label.setAttribute("aria-hidden", "true"); });
    ["role", "aria-labelledby", "aria-describedby"].forEach(function (name) { svg.removeAttribute(name); });
    var shapes = Array.from(svg.querySelectorAll(".point")), group = released([]);
    svg.insertBefore(group, shapes[0]);
    linked(points, x, y, numbers, function (p) {
      var shape = shapes.find(function (one) { return Number(one.dataset.number) === p.number; });
      shape.replaceChildren();
      return shape;
    });
    shapes.forEach(function (shape) { group.append(shape.parentNode); });
    return svg;
  }
  // A drawing for other axes: releases, ticks and limits lie at the pixels that the page gives.
  function otherDrawing(x, y, points, best, numbers) {
    var inside = [], taken = [];
    if (x.most) {
      var end = x.most[size][0];
      inside.push(part("rect", { x: end, y: frame.top, width: frame.right - end, height: frame.bottom - frame.top, "class": "forbidden" }));
      inside.push(part("line", { x1: end, y1: frame.top, x2: end, y2: frame.bottom, "class": "limit" }));
    }
    if (y.closed) {
      inside.push(part("rect", { x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top, "class": "forbidden" }));
      inside.push(written(y.closed[size], frame.left + 8, frame.top + 18, "reason"));
      taken.push([frame.left, frame.top, frame.right, frame.top + frame.above - 12]);
    }
    if (y.limits) {
      var low = y.limits[size][0], high = y.limits[size][1];
      inside.push(part("rect", { x: frame.left, y: frame.top, width: frame.right - frame.left, height: Math.max(high - frame.top, 0), "class": "forbidden" }));
      if (low - high > 1) inside.push(part("rect", { x: frame.left, y: high, width: frame.right - frame.left, height: low - high, "class": "forbidden some" }));
      inside.push(part("line", { x1: frame.left, x2: frame.right, y1: low, y2: low, "class": "limit" }));
      inside.push(part("text", { x: frame.right - 4, y: low - 5, "class": "tick", "text-anchor": "end" }, data.limit));
      taken.push([frame.right - 4 - data.small * data.limit.length, low - 17, frame.right, low + 1]);
    }
    y.ticks.y[size].forEach(function (at, i) {
      inside.push(part("line", { x1: frame.left, x2: frame.right, y1: at, y2: at, "class": "grid" }));
      inside.push(part("text", { x: frame.left - 6, y: at + 4, "class": "tick", "text-anchor": "end" }, y.ticks.said[i]));
    });
    var busy = -1e9;
    x.ticks.x[size].forEach(function (at, i) {
      var text = x.ticks.said[i], half = places.letter / 2 * text.length;
      if (at - half < busy + 4) return;
      busy = at + half;
      inside.push(part("line", { x1: at, x2: at, y1: frame.bottom, y2: frame.bottom + 5, "class": "axis" }));
      inside.push(part("text", { x: at, y: frame.bottom + 19, "class": "tick", "text-anchor": "middle" }, text));
    });
    inside.push(part("line", { x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom, "class": "axis" }));
    inside.push(written(y.up[size], 0, 14, "axis-name"));
    inside.push(written(x.across[size], frame.right, frame.bottom + 38, "axis-name", "end"));
    if (y.base) {
      var base = y.base[0][size][0];
      inside.push(part("line", { x1: frame.left, x2: frame.right, y1: base, y2: base, "class": "reference alone" }));
      inside.push(part("text", { x: frame.right - 4, y: base + 14, "class": "tick", "text-anchor": "end" }, y.base[1]));
      taken.push([frame.right - 4 - data.small * y.base[1].length, base, frame.right, base + 18]);
    }
    var corners = [];
    best.forEach(function (p, i) {
      if (i) corners.push([best[i - 1].px, p.py]);
      corners.push([p.px, p.py]);
    });
    if (best.length > 1) inside.push(part("path", { d: "M" + corners.map(function (c) { return c.join(" "); }).join("L"), "class": "frontier" }));
    points.forEach(function (p) {
      var low = y.ends && y.ends[0][size][p.place], high = y.ends && y.ends[1][size][p.place];
      if (high < low) inside.push(part("line", { x1: p.px, x2: p.px, y1: low, y2: high, "class": "whisker risk" }));
    });
    var marks = linked(points, x, y, numbers, function (p) {
      var look = "point " + (p.passes ? "good" : "bad") + (p.favourite ? " favourite" : "") + (numbers.indexOf(p.number) < 0 ? " beaten" : "");
      var r = data.radii[p.passes ? "circle" : "square"][p.favourite ? 1 : 0];
      return p.passes ? part("circle", { cx: p.px, cy: p.py, r: r, "class": look }) :
        part("rect", { x: p.px - r, y: p.py - r, width: 2 * r, height: 2 * r, "class": look });
    });
    inside.push(released(marks.slice().sort(function (a, b) {
      return a.querySelectorAll(".favourite").length - b.querySelectorAll(".favourite").length;
    })));
    var svg = part("svg", { viewBox: "0 0 " + frame.wide + " " + frame.high, width: frame.wide, height: frame.high }, inside);
    labels(svg, points, numbers, taken);
    return svg;
  }
  function released(marks) {
    return part("g", { role: "group", "aria-label": "Releases; use the arrow keys to move between them and Enter to open the page of a release" }, marks);
  }
  function linked(points, x, y, numbers, shapeOf) {
    var marks = points.map(function (p, i) {
      var rows = told(p, x, y), name = rows.join("; ") + (numbers.indexOf(p.number) >= 0 ? "; unbeaten" : "") + (p.passes ? "; may be released" : "");
      var mark = part("a", { href: p.page, tabindex: i ? -1 : 0, "aria-label": name, "data-number": p.number }, [
        part("circle", { cx: p.px, cy: p.py, r: 12, "class": "reach" }), shapeOf(p)
      ]);
      mark.addEventListener("mouseenter", function () { show(mark, rows); });
      mark.addEventListener("focus", function () { show(mark, rows); });
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
    return marks;
  }

  function draw() {
    size = matchMedia("(max-width: 40rem)").matches ? 1 : 0;
    frame = data.frames[size];
    var x = axes[across.value], y = axes[up.value], points = [];
    data.points.forEach(function (point, place) {
      var right = x.at.x[size][place], down = y.at.y[size][place];
      if (right !== null && down !== null) points.push(Object.assign({ place: place, x: x.values[place], y: y.values[place], px: right, py: down }, point));
    });
    hide();
    var own = x.key === data.x && y.key === data.y, name = own ? "Best trade-offs" : "Best on these axes";
    var best = unbeaten(own ? points.filter(function (p) { return p.passes; }) : points), numbers = best.map(function (p) { return p.number; }), few = best.length <= 4;
    scroll.replaceChildren(own ? pageDrawing(x, y, points, numbers) : otherDrawing(x, y, points, best, numbers));
    said.textContent = (points.length < data.points.length ? points.length + " of " + data.points.length + " releases are shown. " : "") +
      (best.length ? name + " (filled): " + best.slice().sort(function (a, b) { return a.x - b.x; }).map(function (p) { return few ? "“" + p.name + "”" : p.number; }).join(", ") + "." : "");
  }
  var up = chooser("Vertical axis", data.y), across = chooser("Horizontal axis", data.x);
  box.append(scroll, hint, said, controls);
  figure.append(box);
  figure.classList.add("is-live");
  draw();
  matchMedia("(max-width: 40rem)").addEventListener("change", draw);
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
