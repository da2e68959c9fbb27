/** Messages that cost more than they should: each of about the size that is asked for, none of which an honest agent sends. */
const id = "01890000-0000-7000-8000-000000000002";
const at = "2030-01-01T00:00:00Z";

function fill(bytes: number, piece: string): string {
  return Array(Math.max(1, Math.floor(bytes / (piece.length + 1))))
    .fill(piece)
    .join(",");
}

function nested(levels: number, leaf: string): string {
  return "[".repeat(levels) + leaf + "]".repeat(levels);
}

function keys(bytes: number, value: string): string {
  const count = Math.max(1, Math.floor(bytes / (value.length + 11)));
  return Array.from({ length: count }, (_, index) => `"k${1_000_000 + index}":${value}`).join(",");
}

function reply(details: string): string {
  return `{"type":"reply","id":"${id}","error":{"code":"HOST_ERROR","message":"x","details":{${details}}}}`;
}

function result(results: string, error = ""): string {
  const head = `"type":"result","operation_id":"${id}","status":"succeeded","results":[${results}],"output":[]`;
  return `{${head},"started_at":"${at}","finished_at":"${at}","duration_ms":1${error}}`;
}

function resource(changes: string): string {
  const head = `"resource_id":"a","module":"m","type":"file","identity":"i","outcome":"changed","action":"update"`;
  return `{${head},"changes":[${changes}],"caused_by":[],"attempts":1,"duration_ms":1}`;
}

function change(value: string): string {
  return resource(`{"property":"p","before":${value},"after":0}`);
}

/** Lists of lists, as many values as a result may have and no more. */
const mostValues = `[${fill(12 * 80_000, `[${fill(80_000, "1")}]`)}]`;

/** What a hostile agent says, by name; each makes a text of about so many bytes. */
export const hostileMessages: Readonly<Record<string, (bytes: number) => string>> = {
  "lists as deep as allowed around 1e400": (bytes) => result(change(`[${fill(bytes, nested(50, "1e400"))}]`)),
  "lists deeper than allowed": (bytes) => reply(`"a":${nested(bytes / 2, "")}`),
  "objects deeper than allowed": (bytes) =>
    reply(`"a":${'{"a":'.repeat(bytes / 6)}1${"}".repeat(bytes / 6)}`),
  "very many keys": (bytes) => reply(keys(bytes, "[{}]")),
  "very many unknown fields": (bytes) => `{"type":"log","level":"info","message":"x",${keys(bytes, "0")}}`,
  "keys that are too long": (bytes) =>
    result(
      "",
      `,"error":{"code":"HOST_ERROR","message":"x","details":{${fill(bytes, `"${"k".repeat(120)}":0`)}}}`,
    ),
  "keys that are numbers": (bytes) => reply(keys(bytes, "0").replaceAll('"k', '"')),
  "one key again and again": (bytes) => reply(fill(bytes, '"a":0')),
  "the type again and again": (bytes) => `{${fill(bytes, '"type":"log"')}}`,
  "members named __proto__": (bytes) => result(change(`[${fill(bytes, '{"__proto__":{"a":1}}')}]`)),
  "many small lists": (bytes) => reply(`"a":[${fill(bytes, "[]")}]`),
  "as many values as a result may have": () => result(change(mostValues)),
  "numbers that are none": (bytes) => result(change(`[${fill(bytes, "1e400")}]`)),
  "results that are none": (bytes) => result(fill(bytes, "{}")),
  "changes that are none": (bytes) => result(resource(fill(bytes, "0"))),
  "one long text": (bytes) => result(change(`"${"x".repeat(bytes)}"`)),
  "one text of escapes": (bytes) => result(change(`"${"\\ud83d\\ude00".repeat(bytes / 12)}"`)),
  "a text that does not end": (bytes) => `{"type":"log","message":"${'\\"'.repeat(bytes / 2)}`,
  "a log of one long line": (bytes) => `{"type":"log","level":"info","message":"${"x".repeat(bytes)}"}`,
  "samples of nobody's metrics": (bytes) =>
    `{"type":"metrics","gap":false,"samples":[{"at":"x","values":{${keys(bytes, "{}")}}}]}`,
  blanks: (bytes) => `{"type":"log",${" ".repeat(bytes)}"level":"info","message":"x"}`,
  "no JSON at all": (bytes) => ",:".repeat(bytes / 2),
};
