"use strict";
// Compares the steps of every explanation with the reference's, alone and side by side.

(() => {
  const failures = [];
  for (const { programs, operands, rows } of tcnum.explanations) {
    const runs = programs.map((number) => tcnum.evaluate(tcnum.programs[number], operands));
    const pairs = runs.length === 2 ? tcnum.sideBySide(runs[0].steps, runs[1].steps) : runs[0].steps.map((step) => [step]);
    const fields = ["value", "exponent", "kept", "dropped", "code"];
    const found = pairs.map((pair) => {
      const { group, name } = pair[0] ?? pair[1];
      return [group, name, ...pair.flatMap((step) => fields.map((field) => step?.[field] ?? null))];
    });
    const differs = (row, at) => JSON.stringify(row) !== JSON.stringify(rows[at]);
    const at = found.length === rows.length ? found.findIndex(differs) : Math.min(found.length, rows.length);
    if (at < 0) continue;
    const names = programs.map((number) => tcnum.names[number]).join(" and ");
    failures.push(`${names}\n${JSON.stringify(operands)}\nexpected ${JSON.stringify(rows[at])}\nfound    ${JSON.stringify(found[at])}`);
  }
  const count = tcnum.explanations.length;
  console.log(failures.length ? `failed: ${failures.length} of ${count}\n${failures.slice(0, 5).join("\n")}` : `passed: ${count}`);
})();
