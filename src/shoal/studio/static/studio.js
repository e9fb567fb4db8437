// What HTML cannot do by itself: parts that are renewed, uploads with progress, copying, groups and trees by drag, asking twice.
"use strict";
document.addEventListener("htmx:configRequest", (event) => {
  const version = document.querySelector('input[name="version"][form]');
  if (version && event.detail.verb === "post") event.detail.parameters.set("version", version.value);
});
// A part that is renewed keeps what is open in it, and where the keyboard is.
const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
const kept = new Map();
function named(one) { return [one.tagName, one.id || one.name, one.getAttribute("aria-label") || one.textContent.replace(/[\d.,%]+/g, "").trim()].join(" "); }
function same(room, name) { return [...room.querySelectorAll(CONTROLS)].filter((one) => named(one) === name); }
function keep(event) {
  const room = event.detail.target, here = document.activeElement, told = { open: [], name: "", place: 0 };
  if (!room || !room.querySelectorAll) return;
  told.open = [...room.querySelectorAll("details[open] > summary")].map(named);
  if (room !== here && room.contains(here)) { told.name = named(here); told.place = same(room, told.name).indexOf(here); }
  kept.set(room, told);
}
function restore(event) {
  const room = event.detail.target, told = kept.get(room);
  kept.delete(room);
  if (!told || !room.isConnected) return;
  room.querySelectorAll("details > summary").forEach((one) => { if (told.open.includes(named(one))) one.parentElement.open = true; });
  const again = told.name && !room.contains(document.activeElement) ? same(room, told.name)[told.place] : null;
  if (again) again.focus({ preventScroll: true });
}
document.addEventListener("htmx:beforeSwap", keep);
document.addEventListener("htmx:oobBeforeSwap", keep);
document.addEventListener("htmx:afterSwap", restore);
document.addEventListener("htmx:oobAfterSwap", restore);
document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const text = document.getElementById(copy.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(() => { copy.textContent = document.body.dataset.copied; },
      () => window.getSelection().selectAllChildren(document.getElementById(copy.dataset.copy)));
  }
  const sure = event.target.closest("[data-sure]");
  if (sure && !window.confirm(sure.dataset.sure)) event.preventDefault();
  const chip = event.target.closest("[data-value]");
  if (chip) chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
  const add = event.target.closest("[data-group-add]");
  if (add) group(add.closest("[data-board]"));
});
function group(board, extra) {
  const name = board.querySelector("[data-group-name]");
  const chosen = [...board.querySelectorAll('[data-value][aria-pressed="true"]')];
  if (extra && !chosen.includes(extra)) chosen.push(extra);
  const label = name.value.trim();
  if (!label || !chosen.length) { name.focus(); return; }
  const text = document.getElementById(board.dataset.board);
  const values = chosen.map((one) => one.dataset.value).join(" | ");
  const lines = text.value.split("\n").filter((line) => line.trim());
  const at = lines.findIndex((line) => line.startsWith(label + ":"));
  if (at < 0) lines.push(label + ": " + values); else lines[at] += " | " + values;
  text.value = lines.join("\n") + "\n";
  chosen.forEach((one) => one.remove());
}
let dragged = "";
document.addEventListener("dragstart", (event) => {
  const node = event.target.closest && event.target.closest("[data-node]");
  dragged = node ? node.dataset.node : "";
  if (node) { event.dataTransfer.setData("text/plain", node.textContent.trim()); event.dataTransfer.effectAllowed = "move"; return; }
  const chip = event.target.closest && event.target.closest("[data-value]");
  if (chip) event.dataTransfer.setData("text/plain", chip.dataset.value);
});
function over(event) {
  const into = dragged && event.target.closest && event.target.closest("[data-into]");
  document.querySelectorAll(".over").forEach((one) => one !== into && one.classList.remove("over"));
  return into;
}
document.addEventListener("dragend", () => { dragged = ""; document.querySelectorAll(".over").forEach((one) => one.classList.remove("over")); });
document.addEventListener("dragover", (event) => {
  const into = over(event);
  if (into) { into.classList.add("over"); event.preventDefault(); return; }
  if (event.target.closest("[data-group-name], [data-board] + label + textarea")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const into = over(event);
  if (into) {
    event.preventDefault();
    const form = into.closest("form"), ticks = [...form.querySelectorAll("[name=node]")];
    const one = ticks.find((tick) => tick.value === dragged);
    if (!one.checked) ticks.forEach((tick) => { tick.checked = tick === one; });
    form.querySelector("[name=into]").value = into.dataset.into;
    form.requestSubmit(form.querySelector("[value=move]"));
    return;
  }
  const name = event.target.closest("[data-group-name]");
  if (!name) return;
  event.preventDefault();
  const board = name.closest("[data-board]");
  const value = event.dataTransfer.getData("text/plain");
  const chip = [...board.querySelectorAll("[data-value]")].find((one) => one.dataset.value === value);
  if (chip) group(board, chip);
});
document.addEventListener("change", (event) => {
  const input = event.target;
  if (!input.files || !input.files.length) return;
  if (input.dataset.into) {
    input.files[0].text().then((text) => { document.getElementById(input.dataset.into).value = text; });
    return;
  }
  if (!input.dataset.upload) return;
  const bar = document.getElementById("uploaded"), problem = document.getElementById("upload-problem");
  const request = new XMLHttpRequest();
  bar.hidden = false; problem.textContent = "";
  request.upload.onprogress = (e) => { if (e.lengthComputable) bar.value = 100 * e.loaded / e.total; };
  request.onload = () => {
    let said = {};
    try { said = JSON.parse(request.responseText); } catch { said = { problem: request.responseText }; }
    if (said.go) window.location.assign(said.go); else { bar.hidden = true; problem.textContent = said.problem; }
  };
  request.onerror = () => { bar.hidden = true; problem.textContent = "?"; };
  request.open("POST", input.dataset.upload);
  request.setRequestHeader("X-CSRF-Token", document.body.dataset.csrf);
  request.setRequestHeader("X-File-Name", encodeURIComponent(input.files[0].name));
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.send(input.files[0]);
});
