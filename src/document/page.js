"use strict";
(() => {
  const root = document.documentElement;
  const make = (name, text) => Object.assign(document.createElement(name), { textContent: text });
  const keep = (value) => { try { localStorage.setItem("tcnum-theme", value); } catch { /* A page may have no storage. */ } };
  let kept = null;
  try { kept = localStorage.getItem("tcnum-theme"); } catch { kept = null; }
  if (kept) root.dataset.theme = kept;
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const theme = make("button", dark() ? "Light" : "Dark");
  theme.className = "theme";
  theme.type = "button";
  theme.setAttribute("aria-label", "Switch between light and dark");
  theme.onclick = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    keep(root.dataset.theme);
    theme.textContent = dark() ? "Light" : "Dark";
  };
  // Tab reaches it where it is seen: at the end of the bar.
  (document.querySelector(".bar") ?? document.querySelector("header")).append(theme);

  const number = (text) => {
    const plain = text.replace(/,/g, "").trim();
    const value = plain === "" || plain === "-" ? NaN : Number(plain.replace(/^(-?)inf$/, "$1Infinity"));
    return value;
  };
  const order = (column, up) => (x, y) => {
    const [a, b] = [x, y].map((row) => row.cells[column].textContent);
    const [m, n] = [number(a), number(b)];
    if (Number.isNaN(m) !== Number.isNaN(n)) return Number.isNaN(m) ? 1 : -1;
    const way = Number.isNaN(m) ? a.localeCompare(b, "en", { numeric: true }) : m - n;
    return up ? way : -way;
  };
  for (const table of document.querySelectorAll(".table table")) {
    // A calculator keeps its own order.
    if (table.closest(".calculator")) continue;
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    if (body.rows.length < 2) continue;
    heads.forEach((head, column) => {
      const button = make("button", head.textContent);
      button.type = "button";
      button.onclick = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        body.append(...[...body.rows].sort(order(column, up)));
      };
      head.replaceChildren(button);
    });
    if (body.rows.length < Number(document.body.dataset.filter || 9)) continue;
    const label = make("label", "Filter: ");
    label.className = "filter";
    const input = make("input", "");
    input.type = "search";
    input.placeholder = `${body.rows.length} rows`;
    const count = make("output", "");
    input.oninput = () => {
      const words = input.value.toLowerCase().split(/\s+/);
      const rows = [...body.rows];
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      count.textContent = ` ${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    label.append(input, count);
    table.parentElement.before(label);
  }
})();
