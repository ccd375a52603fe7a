// A file that is dropped on the page, or chosen: sent as it is, in one stream.
export function startDrop() {
  const place = document.getElementById("drop"), input = document.getElementById("upload");
  if (!place || place.dataset.started) return;
  place.dataset.started = "1";
  const said = document.getElementById("upload-said");
  async function upload(file) {
    said.textContent = input.dataset.sending;
    try {
      const answer = await fetch("/upload", { method: "POST", body: file, headers: { "x-file-name": encodeURIComponent(file.name) } });
      const found = await answer.json();
      if (found.next) location.assign(found.next);
      else said.textContent = found.problem;
    } catch { said.textContent = input.dataset.failed; }
  }
  input.addEventListener("change", () => { if (input.files[0]) upload(input.files[0]); });
  for (const kind of ["dragenter", "dragover"]) place.addEventListener(kind, (e) => { e.preventDefault(); place.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) place.addEventListener(kind, (e) => { e.preventDefault(); place.classList.remove("over"); });
  place.addEventListener("drop", (event) => { if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]); });
}
