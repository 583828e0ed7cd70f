"use strict";
// Compares the texts of codes, and the codes of texts under every rounding, with the library's.

(() => {
  const failures = [];
  const same = (what, found, expected) => {
    if (found !== expected) failures.push(`${what}: expected ${expected}, found ${found}`);
  };
  const encoded = (record, text, rounding) => {
    try {
      return `0x${tcnum.encode(record, text, rounding).toString(16)}`;
    } catch {
      return null;
    }
  };
  const refused = ["", "-", "one", "1_000", "1,5", "1 2", "1.2.3", "0x", "0xg", "0x1p", "0x.p1", "1e", "1e1.5", "2^", "1e999999", "."];
  for (const { name, record, codes, texts } of tcnum.records) {
    for (const [code, hexadecimal, decimal] of codes) {
      const value = tcnum.decode(record, BigInt(code));
      same(`${name} ${code}`, tcnum.number.decimal(value), decimal);
      same(`${name} ${code}`, tcnum.format.hexadecimal(record, BigInt(code)), hexadecimal);
      same(`${name} ${code}`, tcnum.encode(record, hexadecimal), BigInt(code));
      // Every number reads back from its exact text.
      const again = value.kind === "nan" ? null : tcnum.decode(record, tcnum.encode(record, tcnum.number.scaled(value)));
      if (again) same(`${name} ${code} again`, tcnum.text(again), tcnum.text(value));
    }
    for (const [text, expected] of texts) {
      tcnum.roundings.forEach((rounding, at) => {
        same(`${name} ${text} ${rounding}`, encoded(record, text, rounding), expected[at]);
      });
    }
    for (const text of refused) same(`${name} '${text}'`, encoded(record, text), null);
    same(`${name} too wide`, encoded(record, `0x1${"0".repeat(16)}`), null);
  }
  console.log(failures.length ? `failed: ${failures.length}\n${failures.slice(0, 20).join("\n")}` : "passed");
})();
