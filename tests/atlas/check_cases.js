"use strict";
// Compares D and the correctly rounded result of every case with the reference's. The outcome goes to standard output, or to the
// attribute data-outcome of a page: "passed: N cases", or "failed: " and the first differences.

(() => {
  const codes = (text, format) => {
    const digits = [];
    const width = Math.ceil(format.bits / 4);
    for (let at = 0; text !== "-" && at < text.length; at += width) digits.push(BigInt(`0x${text.slice(at, at + width)}`));
    return digits;
  };
  const one = (text, format) => codes(text, format)[0] ?? null;
  const failures = [];
  let [count, wrong] = [0, 0];
  tcnum.programs.forEach((program, number) => {
    const { instruction, formats } = program;
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => formats[instruction[name]]);
    const scale = instruction.scale && formats[instruction.scale.format];
    for (const line of tcnum.cases[number].trim().split("\n")) {
      const [code, exact, ...own] = line.split(" ");
      const operands = {
        a: codes(own[0], a), b: codes(own[1], b), c: one(own[2], c),
        positions: own[3] === "-" ? [] : [...own[3]].map((digit) => parseInt(digit, 16)),
        scale_a: scale ? codes(own[4], scale) : [], scale_b: scale ? codes(own[5], scale) : [],
      };
      const expected = [one(code, d), one(exact, d)];
      const found = [tcnum.dot(program, operands), tcnum.exact(program, operands).code];
      count += 1;
      if (found[0] === expected[0] && found[1] === expected[1]) continue;
      wrong += 1;
      const hex = (all) => all.map((own) => own?.toString(16)).join(" and ");
      if (failures.length < 5) failures.push(`${tcnum.names[number]}\n${line}\nexpected ${hex(expected)}, found ${hex(found)}`);
    }
  });
  const outcome = wrong ? `failed: ${wrong} of ${count} cases differ\n${failures.join("\n")}` : `passed: ${count} cases`;
  if (typeof document === "undefined") console.log(outcome);
  else document.documentElement.dataset.outcome = outcome;
})();
