/** Modules that cost as much as they may, each named "heavy". */
const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("");
const head = "name: heavy\nresources: []\n";
/** Meets 500 states at each character. */
const slowPattern = "(?:(?:a|a)?){240}";

/** Resources whose contents are these. */
const contents = (count: number, content: (at: number) => string): string =>
  `name: heavy\nresources:\n${lines(count, (at) => `  - type: file\n    path: /a${at}\n    content: |\n      ${content(at)}\n`)}`;

/**
 * What is refused, and how. Stalls before: signs 6.7 s, commas 2.0 s, 18,000 params 1.3 s, an expression of 65,000 7.8 s; the others
 * were not measured by themselves.
 */
export const refusedModules: readonly [name: string, text: string, fault: RegExp][] = [
  [
    "100 patterns on long defaults",
    `${head}params:\n${lines(100, (at) => `  p${at}: {type: string, pattern: "(?:[ab]*a?){120}", default: ${"a".repeat(4000)}}\n`)}`,
    /The patterns of the module do too much/,
  ],
  [
    "patterns of large classes",
    `${head}params:\n${lines(60, (at) => `  p${at}: {type: string, pattern: "(?:[${lines(400, (n) => String.fromCodePoint(0x4e00 + 2 * n))}]|a?){200}", default: ${"a".repeat(4000)}}\n`)}`.slice(
      0,
      300_000,
    ),
    /do too much/,
  ],
  [
    "18,000 params",
    `${head}params:\n${lines(18_000, (at) => `  p${at}: {type: integer}\n`)}`,
    /more than 1000 params/,
  ],
  ["signs that mean nothing", "]".repeat(290_000), /Unexpected/],
  ["commas alone", `a: [${",".repeat(140_000)}]`, /Unexpected/],
  ["lists without commas", `[${"[] ".repeat(70_000)}]`, /Missing ,|Unexpected/],
  ["wrong escapes", `a: "${"\\q".repeat(200_000)}"`, /too many parts/],
  ["40,000 unknown keys", head + lines(40_000, (at) => `k${at}: 1\n`), /not known/],
  ["9,000 maps that begin in one line", `${head}x: ${"a: ".repeat(9_000)}`, /No map can begin here/],
  ["9,000 lists that begin in one line", "- ".repeat(9_000), /nested deeper than 32/],
  [
    "an expression of 65,000 characters",
    contents(1, () => `{% if tags.role == ${"'w== ".repeat(13_000)} %}x{% endif %}`),
    /longer than 1000 characters/,
  ],
  [
    "200,000 names that nobody knows",
    contents(24, () => `{{- ${"- ".repeat(450)} -}}`.repeat(21)),
    /"-" is not there/,
  ],
];
/** What is taken in. The stall of the first was 1.7 s before. */
export const takenModules: readonly [name: string, text: string][] = [
  [
    "900 params with patterns",
    `${head}params:\n${lines(900, (at) => `  p${at}: {type: string, pattern: "${slowPattern}", default: a}\n`)}`,
  ],
  [
    "1,500 resources",
    `name: heavy\nresources:\n${lines(1500, (at) => `  - { id: r${at}, type: file, path: /a/${at}, content: "x", mode: "0644" }\n`)}`,
  ],
  [
    "1,600 templates",
    `name: heavy\nparams: { l: { type: array, default: [1, 2] } }\nresources:\n${lines(1600, (at) => `  - { type: file, path: /a${at}, content: "x{{ params.l | json }}{{ params.l | join: 'a' }}" }\n`)}`,
  ],
];
