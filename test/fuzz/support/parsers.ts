/** The parsers of what comes from outside - the wire, bodies, headers, modules, stored files, outputs of programs - a row for each. */
import { toSafeText } from "../../../adapters/cli/text.ts";
import { toApiError } from "../../../adapters/client/api-error.ts";
import { createHostCheck } from "../../../adapters/h3/hosts.ts";
import { checkForm } from "../../../adapters/h3/request-form.ts";
import { createSourceAddress } from "../../../adapters/h3/source-address.ts";
import { faultOfQuery } from "../../../adapters/h3/trpc-input.ts";
import { namesEntityTag, toChangeOptions } from "../../../adapters/http/entity-tags.ts";
import { checkMediaType, parseJsonBody } from "../../../adapters/http/json-body.ts";
import { parsePathParameter, parseQuery } from "../../../adapters/rest/parameters.ts";
import { readPreferences } from "../../../adapters/rest/preferences.ts";
import { parseOsRelease } from "../../../lib/agent/attributes.ts";
import { parseJournal, parseLastRecord } from "../../../lib/agent/journal-record.ts";
import { seal, unseal } from "../../../lib/agent/sealed-text.ts";
import { toUtf8 } from "../../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../../lib/crypto/node-crypto.ts";
import { parsePublicKey } from "../../../lib/crypto/parse-public-key.ts";
import { isOrchestratorError, OrchestratorError } from "../../../lib/errors.ts";
import { parseDownloadUrl } from "../../../lib/host/download-url.ts";
import { decodeCursor, encodeCursor } from "../../../lib/internal/cursor.ts";
import { isWithin, networkOfAddress, parseNetwork, sourceOfAddress } from "../../../lib/internal/network.ts";
import { parseTextPattern } from "../../../lib/internal/text-pattern.ts";
import { finish, WorkBudget } from "../../../lib/internal/work.ts";
import { checkModule } from "../../../lib/module-format/check-module.ts";
import { liquidTemplates } from "../../../lib/module-format/liquid/liquid-templates.ts";
import { parseHolder } from "../../../lib/native/lock-holder.ts";
import { cronerCron } from "../../../lib/schedules/croner-cron.ts";
import { parseSelector } from "../../../lib/selectors/parse.ts";
import { readTarList, readZipList } from "../../../lib/state/resources/archive/list.ts";
import { parseFstab } from "../../../lib/state/resources/mount/tables.ts";
import { parseApkList } from "../../../lib/state/resources/package/apk.ts";
import * as apt from "../../../lib/state/resources/package/apt.ts";
import { parseBrewInfo } from "../../../lib/state/resources/package/brew.ts";
import * as dnf from "../../../lib/state/resources/package/dnf.ts";
import * as pacman from "../../../lib/state/resources/package/pacman.ts";
import { parseSystemctlShow, toServiceState } from "../../../lib/state/resources/service/systemd.ts";
import { readMarked } from "../../../lib/state/resources/shared/marked-lines.ts";
import { readCursor, writeCursor } from "../../../lib/storage/cursor.ts";
import { helloSchema, welcomeOrRefusedSchema } from "../../../lib/wire/handshake-messages.ts";
import { agentMessageSchema, orchestratorMessageSchema } from "../../../lib/wire/messages.ts";
import { parseMessage, parseScanned } from "../../../lib/wire/parse-json.ts";
import { toUnread } from "../../../lib/wire/unread-message.ts";
import { agentExamples, orchestratorExamples } from "../../wire/support/examples.ts";

/** One parser. It reads a text, or refuses it with an error that says why. */
export interface TextParser {
  /** Texts that it reads, which hostile ones are made from. */
  examples: readonly string[];
  read(text: string): unknown;
  /** Most characters that ever reach it. */
  longest: number;
  /** The codes by which it may refuse; none where it reads every text. */
  refuses: readonly string[];
  /** Most milliseconds of CPU that a text may take. What is linear takes a few, what is quadratic many seconds. Default 1,000. */
  mostMs?: number;
}

const id = "01890000-0000-7000-8000-000000000002";
const time = "2030-01-01T00:00:00.000Z";
const key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

const modules = [
  `name: web
description: A web server
params:
  port: { type: integer, default: 80, minimum: 1, maximum: 65535 }
  names: { type: array, default: [a, b] }
  mode: { type: string, pattern: "^[0-7]{4}$", default: "0644", sensitive: true }
resources:
  - { id: conf, type: file, path: /etc/web.conf, content: "{% for n in params.names %}{{ n | upcase }}:{{ params.port }}{% endfor %}", mode: "{{ params.mode }}" }
  - id: site
    type: directory
    path: "/srv/{{ tags.role | default: 'web' }}"
    when: "role=web and attr.os.family!=windows and param.port>79"
    requires: [conf]
  - &base { id: warm, type: script, run: "echo \\"hi\\"", run_on: [conf] }
`,
  "name: a\nresources:\n- type: script\n  run: |\n    cat <<'X'\n    {% raw %}{{x}}{% endraw %}\n    X\n",
];

const journal = `${[
  { record: "accepted", operation_id: id, kind: "apply", not_after: time, at: time },
  { record: "started", at: time, boot: "b" },
  { record: "begun", identity: "path:/a", removal: false },
  { record: "untouched", identity: "path:/a" },
]
  .map((record) => seal(record))
  .join("\n")}\n`;

const parameters = new Map([
  ["limit", { many: false, number: true, boolean: false }],
  ["tag", { many: true, number: false, boolean: false }],
  ["all", { many: false, number: false, boolean: true }],
]);

const isHost = createHostCheck(["fleet.example:8443", "[::1]", "127.0.0.1"]);
const sourceAddress = createSourceAddress(["10.0.0.0/8", "fd00::/8"]);
const page = { collection: "agents", limit: 10, index: "by_name", order: "desc" } as const;
const filter = { status: "approved", tag: ["role=web"] };

const hello = JSON.stringify({
  type: "hello",
  versions: [2, 1],
  node_public_key: key,
  box_public_key: key,
  ephemeral_key: key,
  agent_version: "1.0.0",
  nonce: key,
  channel_binding: false,
});
const refused = JSON.stringify({ type: "refused", code: "RATE_LIMITED", message: "Come later." });

function unbounded(examples: readonly string[], read: (text: string) => unknown): TextParser {
  return { examples, read, longest: 1_000_000, refuses: [] };
}

function header(
  examples: readonly string[],
  read: (text: string) => unknown,
  refuses: readonly string[] = [],
): TextParser {
  return { examples, read, longest: 16_384, refuses };
}

/** All parsers of texts, by what they read. */
export const textParsers: Readonly<Record<string, TextParser>> = {
  "a message of an agent": {
    examples: agentExamples.map((message) => JSON.stringify(message)),
    read: (text) => parseScanned(agentMessageSchema, toUnread(toUtf8(text)).text),
    longest: 16 * 1024 * 1024,
    refuses: ["PROTOCOL_ERROR"],
  },
  "a message of an orchestrator": {
    examples: orchestratorExamples.map((message) => JSON.stringify(message)),
    read: (text) => parseScanned(orchestratorMessageSchema, toUnread(toUtf8(text)).text),
    longest: 16 * 1024 * 1024,
    refuses: ["PROTOCOL_ERROR"],
  },
  "the first frame of an agent": {
    examples: [hello],
    read: (text) => parseMessage(helloSchema, text),
    longest: 16_384,
    refuses: ["PROTOCOL_ERROR"],
  },
  "the first frame of an orchestrator": {
    examples: [refused],
    read: (text) => parseMessage(welcomeOrRefusedSchema, text),
    longest: 16_384,
    refuses: ["PROTOCOL_ERROR"],
  },
  "a module": {
    examples: modules,
    read: checkModule,
    longest: 524_288,
    refuses: [],
    // As many steps as a module may take, in slices.
    mostMs: 10_000,
  },
  "a template": {
    examples: [
      "{{ params.a | default: 'x' | upcase }}",
      "{% if tags.role == 'web' %}a{% else %}b{% endif %}",
    ],
    read: evaluateTemplate,
    longest: 524_288,
    refuses: [],
  },
  "a pattern of a param": {
    examples: ["^[a-z]{1,63}(\\.[a-z]+)*$", "(a|b)?c{2,3}[^\\d]", "^(?:x\\.)?[^\\s]+$"],
    read: (text) => parseTextPattern(text, new WorkBudget()),
    longest: 500,
    refuses: ["SyntaxError", "WorkExceeded"],
  },
  "a selector": {
    examples: [
      "role=web and (env!=prod or not os.family in (debian, 'red hat'))",
      "cpu.cores>=4 and name='web-*'",
      "*",
    ],
    read: (text) => parseSelector(text),
    longest: 4_096,
    refuses: ["SELECTOR_INVALID"],
  },
  "a schedule": {
    examples: ["*/5 0-6,12 1,15 * MON-FRI", "0 3 L * *", "15 2 * JAN 7#2"],
    read: (cron) => cronerCron.next({ cron, time_zone: "Europe/Berlin" }, Date.parse(time)),
    longest: 200,
    refuses: ["VALIDATION_FAILED"],
  },
  "a time zone": {
    examples: ["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires"],
    read: (time_zone) => cronerCron.next({ cron: "0 3 * * *", time_zone }, Date.parse(time)),
    longest: 100,
    refuses: ["VALIDATION_FAILED"],
  },
  "a cursor of a list": {
    examples: [encodeCursor("agents", filter, "0001"), encodeCursor("agents", filter, 12)],
    read: (text) => decodeCursor("agents", filter, text),
    longest: 16_384,
    refuses: ["CURSOR_INVALID"],
  },
  "a cursor of the storage": {
    examples: [writeCursor({ index: "by_name", order: "desc", entry: ["web", undefined, 7, "key"] })],
    read: (text) => readCursor(text, page),
    longest: 16_384,
    refuses: ["CURSOR_INVALID"],
  },
  "a public key": {
    examples: [key, Buffer.from(key, "hex").toString("base64")],
    read: (text) => parsePublicKey(text, nodeCrypto),
    longest: 16_384,
    refuses: ["KEY_REFUSED"],
  },
  "a body of JSON": {
    examples: [
      '{"a":[1,"x",{"b":null}],"c":"\\u00e9\\ud83d\\ude00"}',
      '{"modules":["web"],"params":{"n":-1.5e3}}',
    ],
    read: (text) => parseJsonBody(Buffer.from(text)),
    longest: 1_048_576,
    refuses: ["VALIDATION_FAILED"],
  },
  "a query": {
    examples: ["limit=10&tag=a%20b&tag=c&all=true", "limit=-1.5&tag=%F0%9F%98%80+x"],
    read: (text) => {
      const { input, faults } = parseQuery(text, parameters);
      if (faults.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues: faults });
      return input;
    },
    longest: 8_192,
    refuses: ["VALIDATION_FAILED"],
  },
  "a parameter of a path": {
    examples: ["web-1", "a%2Fb%20c"],
    read: (text) => parsePathParameter(text, "name", { many: false, number: false, boolean: false }),
    longest: 8_192,
    refuses: ["VALIDATION_FAILED"],
  },
  "a query of tRPC": unbounded(["batch=1&input=%7B%220%22%3A%7B%22a%22%3A1%7D%7D"], (text) => {
    const fault = faultOfQuery(new URLSearchParams(text));
    if (fault !== null) expectCode(fault.code, ["VALIDATION_FAILED"]);
  }),
  "a media type": header(
    ["application/json; charset=utf-8", 'application/merge-patch+json;charset="UTF-8"'],
    checkMediaType,
    ["UNSUPPORTED_MEDIA_TYPE"],
  ),
  "a preference": header(["wait=10, respond-async", 'handling=lenient; foo="a,b", wait="5"'], (text) =>
    readPreferences(text, { least: 0, most: 300 }),
  ),
  "If-Match": header(['"7-abc", "8"', "*", 'W/"7"'], toChangeOptions),
  "If-None-Match": header(['"7-abc", W/"8"', "*"], (text) => namesEntityTag(text, '"7-abc"')),
  "an address of a request": header(["/api/v1/agents?limit=1", "http://fleet.example:8443/a", "*"], (url) => {
    const code = checkForm({ url, headers: { host: "fleet.example:8443" }, rawHeaders: ["Host", "x"] })?.code;
    expectCode(code, [undefined, "VALIDATION_FAILED", "URL_TOO_LONG", "MISDIRECTED", "NOT_FOUND"]);
  }),
  "a Host": header(["fleet.example:8443", "[::1]:80", "127.0.0.1"], (host) =>
    expectCode(isHost({ host, origin: undefined })?.code, [
      undefined,
      "VALIDATION_FAILED",
      "MISDIRECTED",
      "ORIGIN_REFUSED",
    ]),
  ),
  "an Origin": header(["https://fleet.example:8443", "null", "http://[::1]:1"], (origin) =>
    expectCode(isHost({ host: "127.0.0.1", origin })?.code, [undefined, "ORIGIN_REFUSED"]),
  ),
  "X-Forwarded-For": header(["203.0.113.9, 10.0.0.1", "2001:db8::1, [fd00::2]:443"], (text) =>
    sourceAddress("10.0.0.2", text),
  ),
  "an address": header(["203.0.113.9", "::ffff:192.0.2.1", "2001:db8::1%eth0", "10.0.0.0/8"], (text) => {
    sourceOfAddress(text);
    networkOfAddress(text);
    const network = parseNetwork(text);
    return network && isWithin(network, "203.0.113.9");
  }),
  "an address of a download": {
    examples: ["https://example.org/a.tar.gz?x=1#y", "http://user:word@127.0.0.1:80/"],
    read: parseDownloadUrl,
    longest: 8_192,
    refuses: ["DOWNLOAD_FAILED"],
  },
  "an answer that a client gets": unbounded(
    [
      '{"type":"about:blank","title":"x","status":404,"code":"NOT_FOUND","errors":[{"path":["a"],"message":"b"}]}',
      "<html>",
    ],
    (text) => toApiError(404, text, text.slice(0, 20)).message,
  ),
  "what goes to a terminal": unbounded(["plain", "\u001b[31mred\u001b[0m\u0007", "\u202eevil"], (text) => {
    // Line feeds and tabs may stay; nothing may that moves a cursor, colours, or turns a line around.
    // eslint-disable-next-line no-control-regex -- control characters are what is looked for
    if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(toSafeText(text)))
      throw new Error("A control character came through.");
  }),
  "a journal of an agent": unbounded([journal], (text) => parseJournal(text, id)),
  "the last record of a journal": unbounded([journal], parseLastRecord),
  "a sealed text": unbounded([seal({ a: [1, "x"] })], unseal),
  "os-release": unbounded(['NAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="12"\n'], parseOsRelease),
  "a lock": unbounded(['{"pid":1,"started":"2","token":"t","kernel":true}', "1 2"], parseHolder),
  "a list of tar": {
    examples: [
      "drwxr-xr-x 0/0 0 2030-01-01 00:00:00 ./a/\n-rw-r--r-- 0/0 5 2030-01-01 00:00:00 ./a/b\nlrwxrwxrwx 0/0 0 2030-01-01 00:00:00 ./a/c -> b\n",
    ],
    read: (text) => readTarList(text, 1),
    longest: 1_000_000,
    refuses: ["HOST_ERROR"],
  },
  "a list of zip": {
    examples: ["-rw-r--r--  3.0 unx        5 tx stor 30-Jan-01 00:00 a/b\n"],
    read: readZipList,
    longest: 1_000_000,
    refuses: ["HOST_ERROR"],
  },
  "a line of fstab": unbounded(["tmpfs /srv/a\\040b tmpfs rw,size=4096k 0 2", "# x"], parseFstab),
  "a marked block": unbounded(["a\n# BEGIN fleetwright x\nb\n# END fleetwright x\n"], (text) =>
    readMarked(text, "x"),
  ),
  "what systemctl shows": unbounded(["Id=a.service\nActiveState=active\nUnitFileState=enabled\n"], (text) =>
    toServiceState(parseSystemctlShow(text)),
  ),
  "what apk lists": unbounded(["musl-1.2.4-r2 x86_64 {musl} (MIT) [installed]\n"], parseApkList),
  "what brew tells": {
    examples: ['{"formulae":[],"casks":[{"token":"a","full_token":"b/a","version":"1","installed":"1"}]}'],
    read: parseBrewInfo,
    longest: 1_000_000,
    refuses: ["HOST_ERROR"],
  },
  "what dpkg-query tells": unbounded(["hello\tinstall ok installed\t2.10-3\tamd64\n"], apt.parseDpkgQuery),
  "what apt-cache policy tells": unbounded(
    ["hello:\n  Installed: (none)\n  Candidate: 2.10-3\n  Version table:\n"],
    apt.parseAptPolicy,
  ),
  "what apt-cache tells": unbounded(
    ["hello | 2.10-3 | http://deb.example stable/main\n"],
    apt.parseAptVersioned,
  ),
  "what apt-get would install": unbounded(
    ["Inst a [1] (2 Debian:12 [amd64])\nRemv b [1]\nConf a (2)\n"],
    (text) => apt.parseSimulatedInstall(text, new Set(["a"])),
  ),
  "what apt-get would remove": unbounded(["Remv b [1]\nPurg c [2]\n"], apt.parseSimulatedRemoval),
  "what dnf would install": unbounded(
    ["Installing:\n a x86_64 1-1 repo 1 k\n replacing b.x86_64 1-1\n"],
    dnf.parseDnfInstall,
  ),
  "what dnf would remove": unbounded(["Removing:\n a x86_64 1-1 @repo 1 k\n"], dnf.parseDnfRemoval),
  "what rpm tells": unbounded(["a\t0:1-1\tx86_64\n"], dnf.parseRpmQuery),
  "what dnf locks": unbounded(["a-0:1-1.*\n!b-0:1-1.*\n"], dnf.parseVersionLocks),
  "what pacman tells": unbounded(["a 1.0-1\nb 2:1.0-1\n"], pacman.parsePacmanQuery),
  "what pacman knows": unbounded(["Name : a\nVersion : 1.0-1\nRequired By : b c\n"], (text) => [
    pacman.parsePacmanInfo(text),
    pacman.parseDependents(text),
  ]),
};

/** Whether a parser may throw this. */
export function isRefusal({ refuses }: { refuses: readonly string[] }, error: unknown): boolean {
  return refuses.includes(isOrchestratorError(error) ? error.code : error instanceof Error ? error.name : "");
}

function evaluateTemplate(text: string): unknown {
  const read = liquidTemplates.read(text);
  if (!read.ok) return read.fault;
  const scope = {
    params: { a: 1, names: ["x", { y: 2 }] },
    attributes: { hostname: "h" },
    tags: { role: "web" },
  };
  return finish(liquidTemplates.begin(scope, new WorkBudget()).evaluate(read.template));
}

function expectCode(code: string | undefined, allowed: readonly (string | undefined)[]): void {
  if (!allowed.includes(code)) throw new Error(`It was refused by ${code}.`);
}
