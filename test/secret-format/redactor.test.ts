import { describe, expect, it } from "vitest";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { hidden } from "../../lib/state/result.ts";
import { cpuMsOf } from "../support/cpu-time.ts";

const secret = "p@ss/w0rd+'quote\" & <ünï> 7";
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const redactor = new Redactor([bytes(secret)]);

describe("a redactor", () => {
  it.each([
    ["as it is", secret],
    ["as base64", Buffer.from(secret).toString("base64")],
    ["as base64 behind one byte", Buffer.from(`x${secret}`).toString("base64")],
    ["as base64 behind two bytes", Buffer.from(`xy${secret}z`).toString("base64")],
    ["as base64 for URLs", Buffer.from(`xy${secret}`).toString("base64url")],
    ["as hex", Buffer.from(secret).toString("hex")],
    ["as JSON", JSON.stringify(secret)],
    ["as JSON of ASCII alone", JSON.stringify(secret).replaceAll("ü", "\\u00fc").replaceAll("ï", "\\u00ef")],
    [
      "as JSON with upper-case escapes",
      JSON.stringify(secret).replaceAll("ü", "\\u00FC").replaceAll("ï", "\\u00EF"),
    ],
    [
      "as JSON that Go writes",
      JSON.stringify(secret).replaceAll("&", "\\u0026").replaceAll("<", "\\u003c").replaceAll(">", "\\u003e"),
    ],
    ["as Python shows it", `'${secret.replaceAll("'", "\\'")}'`],
    ["quoted for YAML and SQL", `'${secret.replaceAll("'", "''")}'`],
    ["in a CSV", `"${secret.replaceAll('"', '""')}"`],
    ["in a URL", encodeURIComponent(secret)],
    ["in a form", new URLSearchParams({ a: secret }).toString()],
    ["in XML", secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")],
    [
      "in HTML",
      secret
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;")
        .replaceAll('"', "&#34;")
        .replaceAll("'", "&#x27;"),
    ],
    ["quoted for a shell", `'${secret.replaceAll("'", `'\\''`)}'`],
    ["quoted for a shell by Python", `'${secret.replaceAll("'", `'"'"'`)}'`],
    ["broken over lines", `${secret.slice(0, 3)}\n${secret.slice(3, 9)}\r\n${secret.slice(9)}`],
    [
      "as base64 of short lines",
      Buffer.from(secret)
        .toString("base64")
        .replaceAll(/(.{7})/g, "$1\n"),
    ],
  ])("takes a secret out %s", (_how, text) => {
    const clean = redactor.redact(`before ${text} after`);
    expect(clean).toContain(hidden);
    // Whatever is left is what stands around it: a quote, or characters that another byte decides, too.
    expect(
      clean
        .replaceAll(hidden, "")
        .replaceAll(/before|after|a=/g, "")
        .trim().length,
    ).toBeLessThan(9);
  });

  it("takes out every cut of the ways in which base64 may begin and end", () => {
    for (let before = 0; before < 6; before += 1)
      for (let after = 0; after < 6; after += 1) {
        const text = Buffer.from("_".repeat(before) + secret + "_".repeat(after)).toString("base64");
        const left = redactor.redact(text).replace(hidden, "");
        expect(Buffer.from(left, "base64").toString()).not.toMatch(/p@s|ss\/|w0rd|quote/);
      }
  });

  it("takes a secret out of a text that comes in pieces, however it is cut", () => {
    const text = `one ${secret} two ${Buffer.from(secret).toString("base64")} three`;
    for (let size = 1; size < text.length; size += 1) {
      const stream = redactor.stream();
      let told = "";
      for (let at = 0; at < text.length; at += size) told += stream.push(text.slice(at, at + size));
      told += stream.end();
      expect(told.replaceAll(/(?:\(sensitive\))+/g, hidden)).toBe(`one ${hidden} two ${hidden} three`);
    }
  });

  it("keeps nothing back that can't be the beginning of a secret", () => {
    const stream = redactor.stream();
    expect(stream.push("an ordinary line\n")).toBe("an ordinary line\n");
    expect(stream.push(`half ${secret.slice(0, 6)}`)).toBe("half ");
    expect(stream.push(" and no more")).toBe(`${secret.slice(0, 6)} and no more`);
  });

  it("hides what is kept back where the rest of the text is dropped", () => {
    const stream = redactor.stream();
    expect(stream.push(`cut ${secret.slice(0, 12)}`)).toBe("cut ");
    expect(stream.end({ isCut: true })).toBe(hidden);
  });

  it("takes long secrets out in pieces, also where more follows than a piece holds", () => {
    const long = Array.from({ length: 700 }, (_, at) => String.fromCharCode(33 + ((at * 7919) % 90))).join(
      "",
    );
    const two = new Redactor([bytes(long)]);
    expect(two.redact(`a${long}b`)).toBe(`a${hidden}b`);
    for (const size of [1, 100, 511, 512, 513, 650]) {
      const stream = two.stream();
      let told = "";
      const text = `a${long}b${long}c`;
      for (let at = 0; at < text.length; at += size) told += stream.push(text.slice(at, at + size));
      expect((told + stream.end()).replaceAll(/(?:\(sensitive\))+/g, hidden)).toBe(`a${hidden}b${hidden}c`);
    }
  });

  it("takes each line of a secret out by itself", () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nabcdefghijklmnop\n-----END KEY-----\n";
    const clean = new Redactor([bytes(key)]).redact(`  +abcdefghijklmnop\n  +MIIEvQIBADANBgkqhkiG9w0`);
    expect(clean).toBe(`  +${hidden}\n  +${hidden}`);
  });

  it.each(["hunter2\n", "  hunter2 ", "hunter2\r\n"])(
    "takes %j out where what is blank around it is gone",
    (value) => {
      const own = new Redactor([bytes(value)]);
      expect(own.redact("<hunter2>")).toBe(`<${hidden}>`);
      for (const before of ["", "x", "xy"]) {
        const text = Buffer.from(`${before}hunter2`).toString("base64");
        expect(Buffer.from(own.redact(text).replace(hidden, ""), "base64").toString()).not.toMatch(
          /hun|ter|er2/,
        );
      }
      expect(own.redact(Buffer.from("hunter2").toString("hex"))).toBe(hidden);
    },
  );

  it("leaves values of less than four bytes where they are: they stand in any text", () => {
    const short = new Redactor(["a", "ab", "abc"].map(bytes));
    expect(short.isEmpty).toBe(true);
    expect(short.redact("abc")).toBe("abc");
    expect(new Redactor([bytes("abcd")]).redact("xabcdx")).toBe(`x${hidden}x`);
  });

  it("finds what is no text as base64, hex and what is left of it in a text", () => {
    const binary = Uint8Array.from([0xff, 0xfe, 0x80, 0x41, 0x42, 0x43, 0x44, 0x00, 0x9f]);
    const own = new Redactor([binary]);
    for (const form of ["base64", "hex", "utf8"] as const)
      expect(own.redact(`<${Buffer.from(binary).toString(form)}>`)).toBe(`<${hidden}>`);
  });

  it("cleans every text of a value and leaves the names of its members", () => {
    const value = { [secret]: [{ deep: `x${secret}` }, 5, null] };
    expect(redactor.redactAll(value)).toEqual({ [secret]: [{ deep: `x${hidden}` }, 5, null] });
    const same = { a: ["b"] };
    expect(redactor.redactAll(same)).toBe(same);
  });

  it("looks through a megabyte for fifty secrets in a fraction of a second", () => {
    const many = new Redactor(Array.from({ length: 50 }, (_, at) => bytes(`secret-number-${at}-of-fifty`)));
    const text = "An ordinary line of a log that says secret things, and nothing of them.\n".repeat(14_000);
    expect(cpuMsOf(() => expect(many.redact(text)).toBe(text))).toBeLessThan(2_000);
  });
});
