/** Files of fleet folders, each with one thing that a server refuses: everything of which the files alone show it. */
import { newPublicKey, operatorKey, type FolderTexts } from "./fleet-folder.ts";

/** What is wrong, the files, and each fault as `file:line:column code path`. */
export type RefusedEntry = [string, FolderTexts, ...string[]];

/** A module without resources. */
export const emptyModule = (name: string): string => `name: ${name}\nresources: []\n`;
const one = (kind: string, entry: string): FolderTexts => ({ "f.yaml": `${kind}:\n  x: { ${entry} }\n` });
const assignment = (rest: string, modules = "[m]"): FolderTexts => ({
  ...one("assignments", `selector: "*", modules: ${modules}, ${rest}`),
  "modules/m.yaml": emptyModule("m"),
});
const windowOf = (rest: string): FolderTexts => one("windows", `reason: r, mode: mute, ${rest}`);
const channel = (type: string, config: string, rest = ""): FolderTexts =>
  one("channels", `name: C, type: ${type}, ${rest} config: { ${config} }`);
const threshold = (rest: string): FolderTexts => one("thresholds", `name: T, condition: above, ${rest}`);
const withParams = (param: string, params: string): FolderTexts => ({
  "modules/p.yaml": `name: p\nparams:\n  port: { ${param} }\nresources: []\n`,
  "f.yaml": `assignments:\n  x: { selector: "*", modules: [p], params: { ${params} } }\n`,
});
const motd = (name: string, content: string): string =>
  `name: ${name}\nresources:\n  - { type: file, path: /etc/motd, content: ${content} }\n`;

const assignments: RefusedEntry[] = [
  ["a field that is not known", assignment("enfore: true"), "f.yaml:2:37 VALIDATION_FAILED enfore"],
  ["no selector", one("assignments", "modules: [m]"), "f.yaml:2:6 VALIDATION_FAILED selector"],
  [
    "a selector",
    one("assignments", 'selector: "role=", modules: [m]'),
    "f.yaml:2:18 SELECTOR_INVALID selector",
  ],
  [
    "a long selector",
    one("assignments", `selector: ${"a".repeat(4097)}, modules: [m]`),
    "f.yaml:2:18 VALIDATION_FAILED selector",
  ],
  ["no modules", one("assignments", 'selector: "*", modules: []'), "f.yaml:2:32 VALIDATION_FAILED modules"],
  [
    "too many modules",
    one(
      "assignments",
      `selector: "*", modules: [${Array.from({ length: 101 }, (_, at) => `m${at}`).join(", ")}]`,
    ),
    "f.yaml:2:32 VALIDATION_FAILED modules",
  ],
  [
    "a module that is no name",
    one("assignments", 'selector: "*", modules: [M]'),
    "f.yaml:2:33 VALIDATION_FAILED modules.0",
  ],
  [
    "a module in two revisions",
    one("assignments", 'selector: "*", modules: [m, m@1]'),
    "f.yaml:2:36 VALIDATION_FAILED modules.1",
  ],
  [
    "a schedule that is none",
    assignment("schedule: { cron: often }"),
    "f.yaml:2:55 VALIDATION_FAILED schedule.cron",
  ],
  [
    "a schedule out of range",
    assignment('schedule: { cron: "61 * * * *" }'),
    "f.yaml:2:55 VALIDATION_FAILED schedule.cron",
  ],
  [
    "a schedule that never comes",
    assignment('schedule: { cron: "0 0 30 2 *" }'),
    "f.yaml:2:55 VALIDATION_FAILED schedule.cron",
  ],
  [
    "a time zone",
    assignment('schedule: { cron: "@daily", time_zone: Mars/Olympus }'),
    "f.yaml:2:76 VALIDATION_FAILED schedule.time_zone",
  ],
  [
    "a time zone that is no name",
    assignment('schedule: { cron: "@daily", time_zone: "+1" }'),
    "f.yaml:2:76 VALIDATION_FAILED schedule.time_zone",
  ],
  ["a batch of none", assignment("rollout: { batch: 0 }"), "f.yaml:2:55 VALIDATION_FAILED rollout.batch"],
  [
    "a long description",
    assignment(`description: ${"d".repeat(1001)}`),
    "f.yaml:2:50 VALIDATION_FAILED description",
  ],
  [
    "a param that no module declares",
    assignment("params: { port: 1 }"),
    "f.yaml:2:53 VALIDATION_FAILED params.port",
  ],
  [
    "a param of another type",
    withParams("type: integer", "port: high"),
    "f.yaml:2:53 VALIDATION_FAILED params.port",
  ],
  [
    "a param out of its range",
    withParams("type: integer, maximum: 9", "port: 10"),
    "f.yaml:2:53 VALIDATION_FAILED params.port",
  ],
  [
    "a param against its pattern",
    withParams("type: string, pattern: '[a-z]+'", "p.port: A1"),
    "f.yaml:2:55 VALIDATION_FAILED params.p.port",
  ],
  ["a param that is missing", withParams("type: integer", ""), "f.yaml:2:45 VALIDATION_FAILED params.port"],
  [
    "params that are too large",
    assignment(`params: { a: ${"x".repeat(66_000)} }`),
    "f.yaml:2:45 VALIDATION_FAILED params",
  ],
  [
    "params that are too deep",
    assignment(`params: { a: ${"[".repeat(21)}${"]".repeat(21)} }`),
    "f.yaml:2:50 VALIDATION_FAILED params.a",
  ],
  [
    "what a template makes of a param",
    {
      "modules/t.yaml":
        'name: t\nparams:\n  mode: { type: string }\nresources:\n  - { type: file, path: /x, content: x, mode: "{{ params.mode }}" }\n',
      "f.yaml": 'assignments:\n  x: { selector: "*", modules: [t], params: { mode: wide } }\n',
    },
    "f.yaml:2:3 TEMPLATE_FAILED resources.0.mode",
  ],
  [
    "modules that contradict each other",
    {
      "modules/c.yaml": motd("c", "one"),
      "modules/d.yaml": motd("d", "two"),
      "f.yaml": 'assignments:\n  x: { selector: "*", modules: [c, d] }\n',
    },
    "f.yaml:2:32 RESOURCE_CONFLICT modules",
  ],
  [
    "a name",
    { ...assignment(""), "f.yaml": 'assignments:\n  X: { selector: "*", modules: [m] }\n' },
    "f.yaml:2:3 VALIDATION_FAILED name",
  ],
];

const windows: RefusedEntry[] = [
  [
    "no reason",
    one("windows", 'mode: mute, ends_at: "2999-01-01T00:00:00Z"'),
    "f.yaml:2:6 VALIDATION_FAILED reason",
  ],
  [
    "a reason of two lines",
    one("windows", 'reason: "a\\nb", mode: mute, ends_at: "2999-01-01T00:00:00Z"'),
    "f.yaml:2:16 VALIDATION_FAILED reason",
  ],
  [
    "a mode",
    one("windows", 'reason: r, mode: loud, ends_at: "2999-01-01T00:00:00Z"'),
    "f.yaml:2:25 VALIDATION_FAILED mode",
  ],
  [
    "an end before the beginning",
    windowOf('starts_at: "2999-01-02T00:00:00Z", ends_at: "2999-01-01T00:00:00Z"'),
    "f.yaml:2:75 VALIDATION_FAILED ends_at",
  ],
  [
    "neither end nor schedule",
    windowOf('starts_at: "2999-01-02T00:00:00Z"'),
    "f.yaml:2:6 VALIDATION_FAILED ends_at",
  ],
  [
    "a time without a zone",
    windowOf('ends_at: "2999-01-01T00:00:00"'),
    "f.yaml:2:40 VALIDATION_FAILED ends_at",
  ],
  [
    "no occurrence in its time",
    windowOf(
      'starts_at: "2999-01-01T00:00:00Z", ends_at: "2999-01-02T00:00:00Z", schedule: { cron: "0 0 1 6 *", duration_minutes: 5 }',
    ),
    "f.yaml:2:109 VALIDATION_FAILED schedule",
  ],
  [
    "a schedule that never comes",
    windowOf('schedule: { cron: "0 0 31 4 *", duration_minutes: 5 }'),
    "f.yaml:2:49 VALIDATION_FAILED schedule.cron",
  ],
  [
    "a time zone",
    windowOf('schedule: { cron: "0 0 1 6 *", duration_minutes: 5, time_zone: Mars/Olympus }'),
    "f.yaml:2:94 VALIDATION_FAILED schedule.time_zone",
  ],
  [
    "a duration",
    windowOf('schedule: { cron: "0 0 1 6 *", duration_minutes: 0 }'),
    "f.yaml:2:80 VALIDATION_FAILED schedule.duration_minutes",
  ],
  [
    "a selector",
    windowOf('selector: "(", ends_at: "2999-01-01T00:00:00Z"'),
    "f.yaml:2:41 SELECTOR_INVALID selector",
  ],
];

const channels: RefusedEntry[] = [
  ["a webhook without an address", channel("webhook", ""), "f.yaml:2:41 VALIDATION_FAILED config.url"],
  ["a webhook's address", channel("webhook", "url: ftp://x"), "f.yaml:2:48 VALIDATION_FAILED config.url"],
  [
    "headers from a secret, which is a text",
    channel("webhook", 'url: "https://x.example", headers: "secret:s"'),
    "f.yaml:2:78 VALIDATION_FAILED config.headers",
  ],
  [
    "mail to nobody",
    channel("email", "host: h, from: a@b.example"),
    "f.yaml:2:39 VALIDATION_FAILED config.to",
  ],
  [
    "a password of nobody",
    channel("email", 'host: h, from: a@b.example, to: [a@b.example], password: "secret:s"'),
    "f.yaml:2:98 VALIDATION_FAILED config.password",
  ],
  [
    "a password in the open",
    channel(
      "email",
      'host: h, from: a@b.example, to: [a@b.example], username: u, security: none, password: "secret:s"',
    ),
    "f.yaml:2:111 VALIDATION_FAILED config.security",
  ],
  [
    "what slack does not know",
    channel("slack", 'url: "secret:s", colour: red'),
    "f.yaml:2:66 VALIDATION_FAILED config.colour",
  ],
  ["discord without an address", channel("discord", ""), "f.yaml:2:41 VALIDATION_FAILED config.url"],
  ["teams without an address", channel("teams", ""), "f.yaml:2:39 VALIDATION_FAILED config.url"],
  ["ntfy without a topic", channel("ntfy", ""), "f.yaml:2:38 VALIDATION_FAILED config.topic"],
  [
    "a port of syslog",
    channel("syslog", "host: h, port: 70000"),
    "f.yaml:2:57 VALIDATION_FAILED config.port",
  ],
  [
    "a config that is too large",
    channel("webhook", `url: ${"x".repeat(33_000)}`),
    "f.yaml:2:41 VALIDATION_FAILED config",
  ],
  [
    "an event",
    channel("webhook", 'url: "https://x.example"', "events: [Agent],"),
    "f.yaml:2:41 VALIDATION_FAILED events.0",
  ],
  [
    "a severity",
    channel("webhook", 'url: "https://x.example"', "min_severity: loud,"),
    "f.yaml:2:46 VALIDATION_FAILED min_severity",
  ],
  [
    "a template",
    channel("webhook", 'url: "https://x.example"', 'template: { title: "{{ who }}" },'),
    "f.yaml:2:51 VALIDATION_FAILED template.title",
  ],
  [
    "a selector",
    channel("webhook", 'url: "https://x.example"', 'selector: "a=",'),
    "f.yaml:2:42 SELECTOR_INVALID selector",
  ],
  [
    "a name of two lines",
    one("channels", 'name: "a\\nb", type: webhook, config: { url: "https://x.example" }'),
    "f.yaml:2:14 VALIDATION_FAILED name",
  ],
];

const others: RefusedEntry[] = [
  [
    "a recovery beyond the limit",
    threshold("metric: load.5, value: 8, recovery_value: 9"),
    "f.yaml:2:77 VALIDATION_FAILED recovery_value",
  ],
  ["a metric", threshold("metric: Load, value: 8"), "f.yaml:2:43 VALIDATION_FAILED metric"],
  [
    "a value that is no number",
    threshold("metric: load.5, value: high"),
    "f.yaml:2:58 VALIDATION_FAILED value",
  ],
  [
    "a duration of a threshold",
    threshold("metric: load.5, value: 8, for_seconds: 90000"),
    "f.yaml:2:74 VALIDATION_FAILED for_seconds",
  ],
  [
    "a selector of a threshold",
    threshold('metric: load.5, value: 8, selector: "a="'),
    "f.yaml:2:71 SELECTOR_INVALID selector",
  ],
  [
    "too many thresholds",
    {
      "f.yaml": `thresholds:\n${Array.from({ length: 101 }, (_, at) => `  t${at}: { name: T, metric: load.5, condition: above, value: 1 }\n`).join("")}`,
    },
    "f.yaml:102:3 VALIDATION_FAILED ",
  ],
  ["a key that is none", one("operators", "public_key: short"), "f.yaml:2:20 KEY_REFUSED public_key"],
  [
    "a key that is weak",
    one("operators", `public_key: "${"0".repeat(64)}"`),
    "f.yaml:2:20 KEY_REFUSED public_key",
  ],
  [
    "a role",
    one("operators", `public_key: ${operatorKey}, role: Root`),
    "f.yaml:2:92 VALIDATION_FAILED role",
  ],
  [
    "a name of an operator",
    { "f.yaml": `operators:\n  9x: { public_key: ${operatorKey} }\n` },
    "f.yaml:2:3 VALIDATION_FAILED username",
  ],
  [
    "one key of two operators",
    {
      "f.yaml": `operators:\n  ada: { public_key: ${operatorKey} }\n  eve: { public_key: ${operatorKey} }\n`,
    },
    "f.yaml:3:22 ALREADY_EXISTS ",
  ],
  [
    "names of operators that differ in case only",
    {
      "f.yaml": `operators:\n  bob: { public_key: ${newPublicKey()} }\n  Bob: { public_key: ${newPublicKey()} }\n`,
    },
    "f.yaml:3:3 ALREADY_EXISTS ",
  ],
  [
    "a module's resource",
    { "modules/r.yaml": "name: r\nresources:\n  - { type: fil }\n" },
    "modules/r.yaml:3:13 MODULE_INVALID resources.0.type",
  ],
  [
    "a module's name",
    { "modules/r.yaml": "name: R\nresources: []\n" },
    "modules/r.yaml:1:7 MODULE_INVALID name",
  ],
  [
    "a module that requires itself",
    { "modules/r.yaml": "name: r\nrequires: [r]\nresources: []\n" },
    "modules/r.yaml:2:12 MODULE_INVALID requires.0",
  ],
  [
    "modules that wait for each other",
    {
      "modules/v.yaml": "name: v\nrequires: [w]\nresources: []\n",
      "modules/w.yaml": "name: w\nrequires: [v]\nresources: []\n",
    },
    "modules/v.yaml:2:12 MODULE_INVALID requires.0",
    "modules/w.yaml:2:12 MODULE_INVALID requires.0",
  ],
  [
    "a param's default",
    { "modules/r.yaml": "name: r\nparams:\n  a: { type: integer, default: x }\nresources: []\n" },
    "modules/r.yaml:3:32 MODULE_INVALID params.a.default",
  ],
];

/** All of them, by what they are about. The secret `s` has the address of a web hook. */
export const refusedEntries = { assignments, windows, channels, others };
