/** A fleet folder with one thing of each kind, and clients of a server that lose what they send. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createClient, type Client, type Fetch } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import type { CommandLine } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Files of a fleet folder by their paths. */
export type FolderTexts = Readonly<Record<string, string>>;

export const baseModule = "name: base\nresources:\n  - type: directory\n    path: /srv\n";

export const operatorKey = "82dbc4681e280b749ca508bb9dc2cb8aa16c4cfb4d653a60d06c7375448245ce";

/** The public half of a new key, in hex. */
export function newPublicKey(): string {
  const { x } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  return Buffer.from(x!, "base64url").toString("hex");
}

/** One thing of each kind, and two modules. */
export const wholeFleet = {
  "fleet.yaml": "label: shop\n",
  "modules/web.yaml":
    "name: web\nrequires: [base]\nresources:\n  - type: file\n    path: /etc/motd\n    content: hello\n",
  "modules/more/base.yml": baseModule,
  "assignments.yaml": `assignments:
  web:
    selector: role=web
    modules: [web, base]
    schedule: { cron: "0 4 * * *" }
`,
  "rest.yaml": `windows:
  nightly:
    reason: backups
    mode: mute
    schedule: { cron: "0 2 * * *", duration_minutes: 60 }
channels:
  on-call:
    name: On call
    type: webhook
    config: { url: "https://hooks.example.com/fleet" }
thresholds:
  disk:
    name: Disk full
    metric: mount.used_bytes
    percent_of: mount.total_bytes
    condition: above
    value: 90
operators:
  ada: { public_key: ${operatorKey}, role: Operator }
`,
} as const satisfies FolderTexts;

/** Writes files into a new folder. */
export function makeFolder(files: FolderTexts): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) putFile(folder, path, text);
  return folder;
}

/** Writes one file of a folder. */
export function putFile(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A client of the Admin that sends nothing twice. */
export function clientOf({ server, key }: CommandLine, fetchWith: Fetch = fetch): Client {
  return createClient({
    url: server.url,
    signer: readSigner(key),
    fetch: fetchWith,
    retry: { attempts: 1 },
  });
}

/** Loses the change of a number, from 1: before the server has it, or its answer. Sign-ins do not count. */
export function losing(number: number, what: "request" | "answer"): Fetch {
  let changes = 0;
  return async (url, init) => {
    const isChange = init.method !== "GET" && !url.includes("/auth/");
    const isLost = isChange && (changes += 1) === number;
    if (isLost && what === "request") throw new TypeError("lost");
    const answer = await fetch(url, init);
    if (!isLost) return answer;
    await answer.arrayBuffer();
    throw new TypeError("lost");
  };
}
