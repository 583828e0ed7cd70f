"use strict";
// Uses the form as a reader does, and compares what it shows with `tcnum.expected`: for each case its address, and D of both
// generations. The outcome is in the attribute data-outcome of the page.

(async () => {
  const root = document.querySelector(".calculator");
  const form = root.querySelector("form");
  const failures = [];
  const same = (what, found, expected) => {
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      failures.push(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    }
  };
  const cells = (row, column) => [...root.querySelectorAll(`${row} tr`)].map((own) => own.cells[column].textContent);
  const shown = () => cells(".results tbody", 1);
  const field = (name, at = 0) => form.querySelectorAll(`[name=${name}]`)[at];
  const type = (input, text) => {
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const settle = () => new Promise((resolve) => { setTimeout(resolve, 20); });
  const { example, cases } = tcnum.expected;

  same("the example", shown(), example);
  const first = [...form.querySelectorAll("input")].map((input) => input.value);
  for (const { address, results } of cases) {
    location.hash = address;
    await settle();
    same(address, shown(), results);
    // What the form writes to the address reproduces the calculation.
    form.dispatchEvent(new Event("input", { bubbles: true }));
    const again = location.hash;
    location.hash = "";
    location.hash = again;
    await settle();
    same(`${address} again`, shown(), results);
  }
  form.reset();
  await settle();
  same("the example again", shown(), example);
  same("its fields", [...form.querySelectorAll("input")].map((input) => input.value), first);

  // A text that is no number is said so at its field, and nothing old stays.
  type(field("a"), "1,5");
  same("an invalid field", field("a").getAttribute("aria-invalid"), "true");
  same("its results", shown(), []);
  type(field("a"), "");
  same("an empty field", [field("a").getAttribute("aria-invalid"), shown().length > 0], [null, true]);

  // Terms are added and removed by buttons, and every control has a name.
  const terms = () => form.querySelectorAll("[name=a]").length;
  const before = terms();
  if (!form.elements.more.disabled) {
    form.elements.more.click();
    same("a new term has the focus", document.activeElement.name, "a");
    same("terms", terms() > before, true);
    form.elements.fewer.click();
    same("terms again", terms(), before);
  }
  for (const control of form.querySelectorAll("input, select")) {
    const name = control.getAttribute("aria-label") ?? control.labels[0]?.textContent ?? "";
    if (!name.trim()) failures.push(`${control.name} has no label`);
  }
  const labels = [...form.querySelectorAll("input")].map((input) => input.labels[0].textContent.trim());
  same("labels are distinct", new Set(labels).size, labels.length);
  same("names of columns", [...root.querySelectorAll(".steps thead th")].every((head) => head.scope === "col"), true);
  form.reset();
  await settle();

  // Steps that differ have a mark and a word, not only a style.
  const marks = [...root.querySelectorAll(".steps tr.differs th")].map((head) => head.textContent);
  same("marks", marks.every((text) => text.startsWith("≠ differs: ")), true);
  document.documentElement.dataset.outcome = failures.length ? `failed:\n${failures.join("\n")}` : `passed: ${cases.length} cases`;
})();
