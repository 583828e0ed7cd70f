"use strict";
// The search: names of instructions in any spelling, formats, generations and GPUs.
(() => {
  /** Text without the marks that vendors set in different places: `v_mfma_f32_16x16x16_f16`, `v_mfma_f32_16x16x16f16`. */
  const squashed = (text) => text.replace(/[_.]/g, "");

  /** Rows of the index, prepared for the search. */
  const prepared = (rows) => rows.map((row) => {
    const text = `${row[0]} ${row[1]} ${row[3]}`.toLowerCase();
    return { row, name: row[0].toLowerCase(), text, plain: squashed(text) };
  });

  /** The generations that a word names, such as a GPU. */
  const named = (index, word) => index
    .filter(({ row, text }) => row[1] === "generation" && ` ${text} `.includes(` ${word} `))
    .map(({ row }) => row[3].split(" ")[0].toLowerCase());

  /** How well a page answers a query: lower is better, null is not at all. */
  const rank = (own, query, words) => {
    const others = ` ${own.text} `;
    const whole = (word) => others.includes(` ${word} `);
    const has = ([word, names]) => own.text.includes(word) || own.plain.includes(squashed(word)) || names.some(whole);
    if (!words.every(has)) return null;
    if (own.name === query) return 0;
    if (whole(query)) return 1;
    if (own.name.startsWith(query)) return 2;
    if (own.name.includes(query)) return 3;
    return words.every(([word, names]) => [word, ...names].some(whole)) ? 4 : 5;
  };

  /** The rows that answer a query, the best first; a page has every word of it. */
  const search = (index, query) => {
    const several = query.split(/\s+/);
    // A GPU and a format together name the instructions of its generation.
    const words = several.map((word) => [word, several.length > 1 ? named(index, word) : []]);
    const ranked = index.map((own, at) => [rank(own, query, words), at, own]).filter(([place]) => place !== null);
    ranked.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
    return ranked.map(([, , own]) => own.row);
  };
  globalThis.tcnumSearch = (rows, query) => search(prepared(rows), query.trim().toLowerCase());

  // Without a page there is only the search.
  if (typeof document === "undefined") return;
  const root = document.body.dataset.root;
  const field = document.querySelector("#search");
  const found = document.querySelector("#found");
  const MOST = 30;
  const make = (name, text, attributes = {}) => {
    const element = Object.assign(document.createElement(name), { textContent: text });
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
  };
  field.disabled = false;

  let asked = null;
  const whenLoaded = (work) => {
    asked ??= new Promise((resolve) => {
      const script = make("script", "", { src: `${root}search.js` });
      script.onload = () => resolve(prepared(window.tcnumIndex));
      document.head.append(script);
    });
    asked.then(work);
  };

  const show = (index) => {
    const query = field.value.trim().toLowerCase();
    found.hidden = query === "";
    if (found.hidden) return;
    const ranked = search(index, query);
    const all = make("ul", "");
    for (const row of ranked.slice(0, MOST)) {
      const link = make("a", row[0], { href: `${root}${row[2]}.html` });
      const item = make("li", "");
      item.append(link, make("span", row[1], { class: "note" }));
      all.append(item);
    }
    const more = ranked.length > MOST ? `, the first ${MOST} shown` : "";
    const count = ranked.length === 1 ? "1 page" : `${ranked.length || "No"} pages`;
    found.replaceChildren(make("p", `${count}${more}`), all);
  };

  field.addEventListener("focus", () => whenLoaded(show));
  field.addEventListener("input", () => whenLoaded(show));
  const links = () => [...found.querySelectorAll("a")];
  const form = field.closest("[role=search]");
  form.addEventListener("keydown", (event) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (event.key === "Escape") {
      found.hidden = true;
      field.focus();
    } else if (event.key === "Enter" && document.activeElement === field && all.length > 0) {
      location.href = all[0].href;
    } else if (event.key === "ArrowDown" && all.length > 0) {
      all[Math.min(at + 1, all.length - 1)].focus();
    } else if (event.key === "ArrowUp" && all.length > 0) {
      (at > 0 ? all[at - 1] : field).focus();
    } else {
      return;
    }
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) found.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      field.focus();
    }
  });

  // Paper has all drawings.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("#picture details:not([open])")];
    opened.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  // A link to a folded part opens it.
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const folded = target && target.closest("details");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
