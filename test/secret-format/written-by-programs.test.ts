/**
 * Secrets as programs write them that quote what they print.
 *
 * Symptom: a password with a comma in the output of `printf %q`, a key of base64 in a URL that Python made, and others were shown as they
 * are. Cause: the forms that were looked for had been worked out from descriptions, and some programs write others.
 */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { hidden } from "../../lib/state/result.ts";
import { hasPrograms } from "../support/programs.ts";

const secrets = [
  "pass,word seven",
  "abcd/efgh+ijkl==",
  "p@ss/w0rd+'quote\" & <ünïq> seven",
  "it''s {alpha,beta} ~tilde #hash!bang^caret",
  "~home #first",
  "#comment ~first",
  "back\\slash $HOME `ident` quoted",
  "tabbed\there and there",
  "café \u00a0nbsp twelve",
  "aaaa%bbbb=cccc:dddd.eeee/ffff-gggg_hhhh@iiii+jjjj",
  "first line is long\nsecond line is long",
  "ctrl\u0001\u007f\u001bxyzw",
  "emoji \u{1F600} passphrase",
  "[brackets]?*|;&()<>yyyy",
  "\u2028 separators \u2029",
];

/** What is left of a secret in a text: runs of four letters or digits of it. */
function leftOf(secret: string, text: string): string[] {
  const clean = new Redactor([new Uint8Array(Buffer.from(secret))]).redact(text).replaceAll(hidden, "\n");
  const runs = (secret.match(/[A-Za-z0-9]{4,}/g) ?? []).filter((run) => clean.includes(run));
  return clean.length === text.length ? ["all of it"] : runs;
}

const python = `
import csv, html, io, json, shlex, sys, urllib.parse
import xml.etree.ElementTree as tree
from xml.sax.saxutils import escape, quoteattr
try:
    import yaml
except ImportError:
    yaml = None

def forms(s):
    yield "json", json.dumps(s)
    yield "json of all characters", json.dumps(s, ensure_ascii=False)
    yield "repr", repr(s)
    yield "repr of a list", repr([s, "'"])
    yield "ascii", ascii(s)
    yield "repr of bytes", repr(s.encode())
    yield "shlex", shlex.quote(s)
    yield "quote", urllib.parse.quote(s)
    yield "quote of all", urllib.parse.quote(s, safe="")
    yield "quote_plus", urllib.parse.quote_plus(s)
    yield "urlencode", urllib.parse.urlencode({"k": s})
    yield "html", html.escape(s)
    yield "html without quotes", html.escape(s, quote=False)
    yield "xml", escape(s)
    yield "attribute", quoteattr(s)
    if not any(c in s for c in "\\x01\\x1b"):
        yield "element", tree.tostring(tree.Element("k", v=s)).decode()
        element = tree.Element("k")
        element.text = s
        yield "text of an element", tree.tostring(element).decode()
    file = io.StringIO()
    csv.writer(file).writerow([s, 1])
    yield "csv", file.getvalue()
    if yaml:
        yield "yaml", yaml.dump({"k": s})
        yield "yaml of all characters", yaml.dump({"k": s}, allow_unicode=True)
        yield "yaml in quotes", yaml.dump({"k": s}, default_style='"')
        yield "yaml of all characters in quotes", yaml.dump({"k": s}, default_style='"', allow_unicode=True)

print(json.dumps([[s, name, text] for s in json.load(sys.stdin) for name, text in forms(s)]))
`;

it.runIf(hasPrograms("secrets as Python writes them", "python3"))(
  "a secret is recognized in whatever form Python writes it",
  () => {
    const { stdout, stderr } = spawnSync("python3", ["-c", python], { input: JSON.stringify(secrets) });
    expect(stderr.toString()).toBe("");
    const forms = JSON.parse(stdout.toString()) as [string, string, string][];
    expect(forms.length).toBeGreaterThan(secrets.length * 15);
    const left = forms.map(([secret, name, text]) => ({ name, text, left: leftOf(secret, text) }));
    expect(left.filter((each) => each.left.length > 0)).toEqual([]);
  },
);

const shells: [string, string, string[]][] = [
  ["printf %q", "bash", ["-c", 'printf %q "$v"']],
  ["printf %q behind another word", "bash", ["-c", 'printf %q "u:$v"']],
  ["@Q", "bash", ["-c", 'printf %s "${v@Q}"']],
  ["declare", "bash", ["-c", "declare -p v"]],
  ["set", "bash", ["-c", "set | grep -a -A1 ^v="]],
  ["export", "bash", ["-c", 'export -p | grep -a -A1 " v="']],
  ["a trace", "bash", ["-xc", 'true "$v"']],
  ["export", "sh", ["-c", 'export -p | grep -a -A1 " v="']],
  ["a trace", "sh", ["-xc", 'true "$v"']],
];

describe.runIf(hasPrograms("secrets as shells write them", "bash"))("shells", () => {
  it.each(["C.UTF-8", "C"])("a secret is recognized in whatever form a shell writes it: %s", (locale) => {
    const left: object[] = [];
    for (const secret of secrets)
      for (const [name, shell, args] of shells) {
        const env = { PATH: process.env["PATH"], v: secret, LC_ALL: locale };
        const { stdout, stderr } = spawnSync(shell, args, { env, stdio: ["ignore", "pipe", "pipe"] });
        const text = stdout.toString() + stderr.toString();
        const runs = leftOf(secret, text);
        if (runs.length > 0) left.push({ shell, name, text, runs });
      }
    expect(left).toEqual([]);
  });
});

describe("a redactor", () => {
  it.each([
    ["a word of a shell", "pa,ss word7", "pa\\,ss\\ word7"],
    ["a word of a shell that has other letters", "pässe wort", "pässe\\ wort"],
    ["$'...' of a shell", "a\u0001bcé", "a\\001bcé"],
    ["$'...' of a shell that knows ASCII", "a'bcé", "a\\'bc\\303\\251"],
    ["quotes that stand together, as dash writes them", "it''s so", `it'"''"'s so`],
    ["a path of a URL", "abc/def+gh==", "abc/def%2Bgh%3D%3D"],
    ["a path of a URL that Go made", "abc/def+gh==", "abc%2Fdef+gh=="],
    ["a form of a browser", "a~b*c d!", "a%7Eb*c+d%21"],
    ["ascii of Python", "café\u{1F600}", "caf\\xe9\\U0001f600"],
    ["bytes of Python", "café's", "caf\\xc3\\xa9\\'s"],
    ["a space that Python does not print", "a\u00a0bcd", "a\\xa0bcd"],
    ["YAML of ASCII", "café\u{1F600}", "caf\\xE9\\U0001F600"],
    ["YAML with names of characters", "a\u001b\u00a0b\u0085", "a\\e\\_b\\N"],
    ["MySQL", 'it\'s "so"\n\\', 'it\\\'s \\"so\\"\\n\\\\'],
    ["PostgreSQL", "it's so\\", "it''s so\\\\"],
    ["an attribute of XML", "a\tbc<d", "a&#9;bc&lt;d"],
    ["an attribute of ElementTree", "a\tbcé", "a&#09;bc&#233;"],
    ["an attribute of libxml2", "a\r\nbcé", "a&#xD;&#xA;bc&#xE9;"],
    ["HTML of PHP", "it's so", "it&#039;s so"],
    ["JSON of PHP", "ab/cé", "ab\\/c\\u00e9"],
    ["JSON of .NET", "it's+so", "it\\u0027s\\u002Bso"],
    ["JSON of Gson", "it's=so", "it\\u0027s\\u003dso"],
  ])("takes a secret out of %s", (_where, secret, text) => {
    const own = new Redactor([new Uint8Array(Buffer.from(secret))]);
    expect(own.redact(`<${text}>`)).toBe(`<${hidden}>`);
    const within = Buffer.from(text).toString("base64").replaceAll("=", "");
    expect(own.redact(within).length).toBeLessThan(hidden.length + 2);
  });
});
