"use strict";
// Form of the calculator: reads the operands, evaluates both generations, and shows D and the steps.
// `tcnum.generations` and `tcnum.programs` come from the script of the page.

(() => {
  const root = document.querySelector(".calculator");
  const form = root.querySelector("form");
  const part = (selector) => root.querySelector(selector);
  const generations = new Map(tcnum.generations.map((own) => [own.name, { ...own, program: tcnum.programs[own.program] }]));
  const { instruction, formats } = tcnum.programs[0];
  const { chunk, scale, stored, k } = instruction;
  const formatOf = (name) => formats[name.startsWith("scale") ? scale.format : instruction[name]];
  const formatName = (name) => (name.startsWith("scale") ? scale.format : instruction[name]);
  /** Terms that the buttons add and remove together. */
  const together = chunk ? chunk.kept : 1;
  const example = JSON.parse(root.dataset.example);

  const make = (name, text = "", attributes = {}) => {
    const element = Object.assign(document.createElement(name), { textContent: text });
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    return element;
  };

  // Form.

  const field = (name, label = "") =>
    `<div class="field"><label><span>${label}</span> <input type="text" name="${name}" inputmode="text" spellcheck="false"
      autocapitalize="off"></label><output></output></div>`;
  const places = Array.from({ length: chunk?.length ?? 0 }, (_, at) => `<option>${at}</option>`).join("");
  const table = (name, label, caption, heads) =>
    `<div class="table" tabindex="0" role="region" aria-label="${label}"><table class="${name}"><caption>${caption}</caption>
      <thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead><tbody></tbody></table></div>`;

  form.insertAdjacentHTML("beforeend", `
    <div class="choice">
      <label>First generation <select name="one"></select></label>
      <label>Second generation <select name="two"><option value="">none</option></select></label>
    </div>
    <div class="fields" role="group" aria-label="A in ${formatName("a")}, B in ${formatName("b")}"></div>
    ${scale ? '<div class="scales" role="group" aria-label="Block scales"></div>' : ""}
    <div class="addend">${field("c", "c")}</div>
    <div class="buttons">
      <button type="button" name="more">${chunk ? "Add a chunk" : "Add a term"}</button>
      <button type="button" name="fewer">Remove the last</button>
      <button type="reset">Show the example</button>
    </div>`);
  form.insertAdjacentHTML("afterend", `
    <p class="verdict" role="status"></p>
    ${table("results", "Results", "D of each generation, and the correctly rounded exact result.",
      ["result", "D", "value", "compared with correct rounding", "evidence of what decided it"])}
    ${table("steps", "Steps", "Steps in order. Values are exact, or rounded to 17 digits after a ~. Steps that differ are marked with ≠.",
      ["step"])}
    <template class="term"><div class="term">${field("a")}
      ${chunk ? `<label>position <select name="position">${places}</select></label>` : ""}${field("b")}</div></template>
    <template class="block"><div class="term">${field("scale_a")}${field("scale_b")}</div></template>`);
  ["one", "two"].forEach((name, chosen) => [...generations.keys()].forEach((own, at) => {
    form.elements[name].add(new Option(own, own, at === chosen, at === chosen));
  }));

  // Fields.

  const all = (name) => [...form.querySelectorAll(`input[name=${name}], select[name=${name}]`)];

  /** A code as a reader would type it: the shortest exact text, else the code itself. */
  function typed(format, code) {
    const value = tcnum.decode(format, code);
    const isExact = (text) => {
      try {
        return text.length < 20 && !text.startsWith("~") && tcnum.encode(format, text) === BigInt(code);
      } catch {
        return false;
      }
    };
    const written = [tcnum.number.decimal(value), tcnum.number.scaled(value)].filter(isExact);
    return written.sort((x, y) => x.length - y.length)[0] ?? tcnum.format.hexadecimal(format, BigInt(code));
  }

  function setLabel(input, label) {
    input.closest("label").querySelector("span").textContent = label;
    const output = input.closest(".field").querySelector("output");
    output.id = `code-${label}`;
    input.setAttribute("aria-describedby", output.id);
  }

  /** Screen readers tell a text that is set anew, so that one that stays is left alone. */
  function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function addTerm({ a = "0x0", b = "0x0", position } = {}) {
    const at = all("a").length;
    const term = part("template.term").content.firstElementChild.cloneNode(true);
    const [x, y] = [term.querySelector("[name=a]"), term.querySelector("[name=b]")];
    x.value = typed(formatOf("a"), a);
    y.value = typed(formatOf("b"), b);
    setLabel(x, `a[${at}]`);
    if (chunk) {
      const select = term.querySelector("select");
      select.value = String(position ?? at % chunk.kept);
      select.setAttribute("aria-label", `position of a[${at}] in its chunk`);
    }
    part(".fields").append(term);
    labelFactors();
  }

  /** Index along k of the element of B that the stored element `at` of A meets. */
  function logical(at) {
    return chunk ? Math.floor(at / chunk.kept) * chunk.length + Number(all("position")[at].value) : at;
  }

  /** Names the elements of B, and shows a pair of scales for every block that has terms. */
  function labelFactors() {
    all("b").forEach((input, at) => setLabel(input, `b[${logical(at)}]`));
    const count = all("a").length;
    form.elements.more.disabled = count >= stored;
    form.elements.fewer.disabled = count <= together;
    if (!scale) return;
    const last = Math.max(...all("a").map((_, at) => logical(at)));
    const blocks = Math.floor(last / scale.block) + 1;
    for (let at = all("scale_a").length; at < blocks; at += 1) addBlock(at);
    for (let at = all("scale_a").length; at > blocks; at -= 1) part(".scales").lastElementChild.remove();
  }

  function addBlock(at) {
    const block = part("template.block").content.firstElementChild.cloneNode(true);
    for (const name of ["scale_a", "scale_b"]) {
      const input = block.querySelector(`[name=${name}]`);
      input.value = given?.[name][at] === undefined ? "1" : typed(formatOf(name), given[name][at]);
      setLabel(input, `${name}[${at}]`);
    }
    part(".scales").append(block);
  }

  /** Operands that the form is being filled with; scales of its blocks are taken from them. */
  let given = null;

  function fill(operands) {
    const { a, b, c, positions } = operands;
    given = operands;
    part(".fields").replaceChildren();
    part(".scales")?.replaceChildren();
    const place = (at) => Number(positions[at] ?? at % together);
    const index = (at) => (chunk ? Math.floor(at / chunk.kept) * chunk.length + place(at) : at);
    const isUsed = (at) => [a[at], b[index(at)]].some((code) => BigInt(code ?? 0) !== 0n);
    let count = Math.min(2, stored);
    for (let at = 0; at < stored; at += 1) if (isUsed(at)) count = Math.max(count, at + 1);
    count = Math.ceil(count / together) * together;
    for (let at = 0; at < count; at += 1) addTerm({ a: a[at], b: b[index(at)], position: place(at) });
    all("c")[0].value = typed(formatOf("c"), c);
    given = null;
  }

  /** Code of a field. A number gets its code, a code its value, and anything else a message. */
  function readField(input) {
    const output = input.closest(".field").querySelector("output");
    const format = formatOf(input.name);
    const text = input.value.trim() || "0";
    try {
      const code = tcnum.encode(format, text);
      const value = tcnum.decode(format, code);
      const written = tcnum.format.hexadecimal(format, code);
      const isCode = /^0x[\da-f]+$/i.test(text);
      const isRounded = !isCode && tcnum.text(tcnum.number.read(text)) !== tcnum.text(value);
      const rounded = isRounded ? `, rounded to ${tcnum.text(value)}` : "";
      setText(output, isCode ? `= ${tcnum.text(value)}` : written + rounded);
      input.removeAttribute("aria-invalid");
      return code;
    } catch (error) {
      setText(output, error.message);
      input.setAttribute("aria-invalid", "true");
      return null;
    }
  }

  /** Operands of the form; null if a field cannot be read. */
  function operands() {
    const codes = Object.fromEntries(["a", "b", "scale_a", "scale_b", "c"].map((name) => [name, all(name).map(readField)]));
    if (Object.values(codes).flat().includes(null)) return null;
    const b = new Array(k).fill(0n);
    codes.b.forEach((code, at) => { b[logical(at)] = code; });
    const positions = all("position").map((select) => Number(select.value));
    return { a: codes.a, b, c: codes.c[0], positions, scale_a: codes.scale_a, scale_b: codes.scale_b };
  }

  /** Reason why the positions of stored elements are impossible; null if they are not. */
  function misplaced(positions) {
    if (!chunk) return null;
    for (let first = 0; first < positions.length; first += chunk.kept) {
      const own = positions.slice(first, first + chunk.kept);
      const groups = own.filter((_, at) => at % chunk.together === 0);
      const inPairs = own.every((position, at) => position === groups[Math.floor(at / chunk.together)] + (at % chunk.together));
      const aligned = groups.every((position) => position % chunk.together === 0);
      const ascending = groups.every((position, at) => at === 0 || position > groups[at - 1]);
      const different = new Set(groups).size === groups.length;
      if (inPairs && aligned && (chunk.any_order ? different : ascending)) continue;
      return `The positions ${own.join(", ")} of chunk ${first / chunk.kept} are not allowed.`;
    }
    return null;
  }

  // Results.

  /** Distance of two codes of D in numbers of its format, in words. */
  function distance(format, code, exact) {
    if (exact === null) return "the exact result is NaN, which the format lacks";
    if (code === exact) return "equal";
    const [x, y] = [code, exact].map((own) => tcnum.decode(format, own));
    if (x.kind === "nan" || y.kind === "nan") return x.kind === y.kind ? "another NaN" : "differs";
    const order = (value, own) => {
      if (format.integer) return value.negative ? -value.significand : value.significand;
      const magnitude = own & ~(format.signed ? 1n << BigInt(format.bits - 1) : 0n);
      return (value.negative ? -magnitude : magnitude) >> BigInt(format.padding_bits);
    };
    const gap = order(x, code) - order(y, exact);
    if (gap === 0n) return "zero of the other sign";
    const count = gap < 0n ? -gap : gap;
    return `${count} ${count === 1n ? "number" : "numbers"} of ${formatName("d")} ${gap < 0n ? "below" : "above"}`;
  }

  function row(cells, attributes = {}) {
    const own = make("tr", "", attributes);
    cells.forEach((text, at) => own.append(at ? make("td", text) : make("th", text, { scope: "row" })));
    return own;
  }

  function showResults(runs, exact) {
    const format = formatOf("d");
    const shown = (code) => [tcnum.format.hexadecimal(format, code), tcnum.text(tcnum.decode(format, code))];
    const rows = runs.map(({ name, evidence, d }) =>
      row([name, ...shown(d), distance(format, d, exact.code), evidence], d === exact.code ? {} : { class: "differs" }),
    );
    const correct = exact.code === null ? ["none", "NaN"] : shown(exact.code);
    rows.push(row(["correctly rounded", ...correct, `exact: ${tcnum.text(exact.value)}`, "exact arithmetic, RNE"]));
    part(".results tbody").replaceChildren(...rows);
  }

  /** Parts of a step, each in a line of its own. */
  function cell(step) {
    const own = make("td");
    if (!step) {
      own.textContent = "no such step";
      return own;
    }
    own.append(make("div", step.value, { class: "value" }));
    // A term that alignment keeps whole needs no words.
    const isCut = step.kept !== null && !["0", "-0"].includes(step.dropped);
    if (isCut) own.append(make("div", `kept ${step.kept}${step.dropped === null ? "" : `, dropped ${step.dropped}`}`));
    if (step.exponent !== null) own.append(make("div", `exponent ${step.exponent}`));
    if (step.code !== null) own.append(make("div", `code ${step.code}`));
    return own;
  }

  const isSame = (x, y) => x !== null && y !== null && JSON.stringify(x) === JSON.stringify(y);

  function showSteps(runs) {
    const pairs = runs.length === 2 ? tcnum.sideBySide(runs[0].steps, runs[1].steps) : runs[0].steps.map((step) => [step]);
    const groups = pairs.some((pair) => pair.some((step) => step?.group > 1));
    const differing = [];
    const rows = pairs.map((pair) => {
      const named = pair[0] ?? pair[1];
      const name = groups && named.group !== null ? `group ${named.group}: ${named.name}` : named.name;
      const differs = pair.length === 2 && !isSame(...pair);
      if (differs) differing.push(name);
      const own = make("tr", "", differs ? { class: "differs" } : {});
      const head = make("th", differs ? "≠ " : "", { scope: "row" });
      if (differs) head.append(make("span", "differs: ", { class: "unseen" }));
      head.append(name);
      own.append(head, ...pair.map(cell));
      return own;
    });
    const heads = ["step", ...runs.map(({ name }) => name)].map((text) => make("th", text, { scope: "col" }));
    part(".steps thead tr").replaceChildren(...heads);
    part(".steps tbody").replaceChildren(...rows);
    return differing;
  }

  function verdict(runs, differing) {
    const format = formatOf("d");
    const shown = (code) => `${tcnum.format.hexadecimal(format, code)} (${tcnum.text(tcnum.decode(format, code))})`;
    const [one, two] = runs;
    if (!two) return `${one.name} gives ${shown(one.d)}.`;
    const where = differing.length ? `; their first different step is "${differing[0]}"` : "";
    if (one.d === two.d) return `${one.name} and ${two.name} give ${shown(one.d)}${where}.`;
    return `${one.name} gives ${shown(one.d)}, ${two.name} gives ${shown(two.d)}${where}.`;
  }

  function clear(message) {
    setText(part(".verdict"), message);
    part(".results tbody").replaceChildren();
    part(".steps tbody").replaceChildren();
  }

  /** Evaluates the form; returns its operands, or null if there is an error. */
  function update() {
    const own = operands();
    if (!own) {
      const unread = [...form.querySelectorAll(".field:has([aria-invalid=true])")];
      clear(unread.map((own) => `${own.querySelector("span").textContent}: ${own.querySelector("output").textContent}`).join("; "));
      return null;
    }
    const wrong = misplaced(own.positions);
    if (wrong) {
      clear(wrong);
      return null;
    }
    const names = [form.elements.one.value, form.elements.two.value].filter((name) => name);
    const runs = names.map((name) => {
      const { evidence, program } = generations.get(name);
      const run = tcnum.evaluate(program, own);
      return { name, ...run, evidence: tcnum.evidence(evidence, tcnum.kinds, run.regimes) };
    });
    const exact = tcnum.exact(generations.get(names[0]).program, own);
    showResults(runs, exact);
    setText(part(".verdict"), verdict(runs, showSteps(runs)));
    return own;
  }

  // Address: the fragment holds the generations and the codes, so that a link shows the same calculation.

  const LISTS = ["a", "b", "positions", "scale_a", "scale_b"];

  function writeAddress(own) {
    const text = (value) => value.toString(16);
    const fields = new URLSearchParams({ one: form.elements.one.value, two: form.elements.two.value, c: text(own.c) });
    for (const name of LISTS) {
      const codes = own[name].map(text);
      if (name === "b") while (codes.length && codes.at(-1) === "0") codes.pop();
      if (codes.length) fields.set(name, codes.join("."));
    }
    history.replaceState(null, "", `#${fields}`);
  }

  /** Fills the form from the address; false if the address has no operands of this form. */
  function readAddress() {
    const fields = new URLSearchParams(location.hash.slice(1));
    const codes = (name) => (fields.get(name) ? fields.get(name).split(".") : []);
    const lists = Object.fromEntries(LISTS.map((name) => [name, codes(name)]));
    const c = fields.get("c");
    const fits = (list, name) => {
      const most = { a: stored, b: k, positions: stored }[name] ?? k;
      return list.length <= most && list.every((code) => /^[\da-f]{1,16}$/.test(code));
    };
    if (c === null || !fits([c], "c") || !LISTS.every((name) => fits(lists[name], name))) return false;
    for (const name of ["one", "two"]) {
      const wanted = fields.get(name) ?? "";
      if (generations.has(wanted) || (name === "two" && !wanted)) form.elements[name].value = wanted;
    }
    const hexadecimal = (code) => `0x${code}`;
    fill({
      ...Object.fromEntries(LISTS.map((name) => [name, lists[name].map(hexadecimal)])),
      c: hexadecimal(c),
      positions: lists.positions.map((position) => Math.min(parseInt(position, 16), (chunk?.length ?? 1) - 1)),
    });
    return true;
  }

  function changed() {
    labelFactors();
    const own = update();
    if (own) writeAddress(own);
  }

  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    fill(example);
    changed();
  }));
  form.elements.more.addEventListener("click", () => {
    for (let added = 0; added < together; added += 1) addTerm();
    all("a").at(-together).focus();
    changed();
  });
  form.elements.fewer.addEventListener("click", () => {
    for (let removed = 0; removed < together; removed += 1) part(".fields").lastElementChild.remove();
    changed();
  });
  window.addEventListener("hashchange", () => { if (readAddress()) update(); });

  setLabel(all("c")[0], "c");
  if (!readAddress()) fill(example);
  update();
})();
