// A list of the versions of this site, beside the search field. The versions stand in versions.js, one folder above.
(() => {
  const root = new URL("../", document.currentScript.src);
  const list = document.createElement("script");
  list.src = new URL("../versions.js", root).href;
  list.onload = () => {
    const versions = window.larvatusVersions || [];
    const place = document.querySelector("header nav") || document.querySelector("header");
    if (versions.length < 2 || !place) return;
    const here = decodeURIComponent(root.pathname.replace(/\/$/, "").split("/").pop());
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", "Version");
    choice.style.cssText = "font:inherit;font-size:.7rem;margin-left:.6rem;background:transparent;color:inherit;border:1px solid;border-radius:4px";
    for (const version of versions) {
      const option = new Option(version, version, false, version === here);
      option.style.color = "#000";
      choice.add(option);
    }
    choice.addEventListener("change", () => {
      location.href = new URL(`../${encodeURIComponent(choice.value)}/index.html`, root).href;
    });
    place.append(choice);
  };
  document.head.append(list);
})();
