/** Ways in which programs write a text: a secret is known again in each of them, with nothing else of it that would tell. */
import { expect, it } from "vitest";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { hidden } from "../../lib/state/result.ts";

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const all = Array.from({ length: 256 }, (_, at) => String.fromCharCode(at)).join("");

it.each([
  ["hex in capitals", "Jäh~no", "4AC3A4687E6E6F"],
  ["hex", "Jäh~no", "4ac3a4687e6e6f"],
  ["base64 for URLs, a minus in it", "a>>>>>>>b", "YT4-Pj4-Pj5i"],
  ["base64 for URLs, an underscore in it", "a???????b", "YT8_Pz8_Pz9i"],
  ["YAML, a separator of lines", "left\u2028right", "left\\Lright"],
  ["YAML, a separator of paragraphs", "left\u2029right", "left\\Pright"],
  ["YAML, a next line", "left\u0085right", "left\\Nright"],
  ["YAML, a space that does not break", "left\u00a0right", "left\\_right"],
  ["YAML, an escape and a NUL", "left\u001bri\0ght", "left\\eri\\0ght"],
  ["MySQL, the end of a file of Windows", "left\u001a'right", "left\\Z\\'right"],
  ["MySQL, a NUL", 'left\0"right', 'left\\0\\"right'],
  ["MySQL, a tab and a backspace", "left\t\u001a'ri\bght", "left\\t\\Z\\'ri\\bght"],
  ["a URL in small letters", "le/ft ü", "le%2fft%20%c3%bc"],
  ["a form in small letters", "le/ft ü", "le%2fft+%c3%bc"],
  ["a URL", "le/ft ü", "le%2Fft%20%C3%BC"],
  ["a form", "le/ft ü", "le%2Fft+%C3%BC"],
  ["an attribute of XML, its tabs alone", "left\tü", "left&#9;ü"],
  ["an attribute of XML by ElementTree", "left\tü", "left&#09;ü"],
  ["an attribute of XML, its tabs in hex", "left\tü", "left&#x9;ü"],
  ["XML of ASCII, its tabs as they are", "left\tü", "left\t&#252;"],
  ["XML of ASCII in hex", "left\tü", "left\t&#xFC;"],
  ["XML of ASCII, its tabs, too", "left\tü", "left&#9;&#252;"],
  ["a shell, a tilde first", "~left~ü right,", "\\~left~ü\\ right\\,"],
  ["a shell, a hash first", "#left#ü right,", "\\#left#ü\\ right\\,"],
  ["a shell, an escape", "left\u001bright'", "left\\Eright\\'"],
  ["a shell of ASCII", "left ü'right", "left \\303\\274\\'right"],
])("%s: %j as %j", (_, secret, written) => {
  const redactor = new Redactor([bytes(secret)]);
  expect(redactor.redact(`<${written}>`)).toBe(`<${hidden}>`);
  const stream = redactor.stream();
  const told = [...`<${written}>`].map((piece) => stream.push(piece)).join("") + stream.end();
  expect(told).toBe(`<${hidden}>`);
});

it.each(["\r", "\n", "\r\n", "\n\n", "\r\r"])("broken over lines by %j", (end) => {
  const redactor = new Redactor([bytes("hunter2hunter3")]);
  expect(redactor.redact(`<hun${end}ter2hunt${end}er3>`)).toBe(`<${hidden}>`);
  expect(redactor.redact(`a${end}b`)).toBe(`a${end}b`);
});

it.each([
  ["one of eight characters", "12345678\nabcdefgh\nshort77\n", ["12345678", "abcdefgh"], ["short77"]],
  ["one of Windows", "12345678\r\nabcdefgh\r\n", ["12345678", "abcdefgh"], []],
  ["one that is set in", "key:\n  12345678  \n\tabcdefgh\n", ["12345678", "abcdefgh"], ["key:"]],
])("a line of a secret, %s, by itself", (_, secret, lines, others) => {
  const redactor = new Redactor([bytes(secret)]);
  for (const line of lines) expect(redactor.redact(`<${line}>`)).toBe(`<${hidden}>`);
  for (const line of others) expect(redactor.redact(`<${line}>`)).toBe(`<${line}>`);
});

it("what holds none of it stays as it is, whatever its characters", () => {
  const redactor = new Redactor([bytes("hunter2\thunter3")]);
  expect(redactor.redact(all)).toBe(all);
});
