/** Somebody cuts or edits the audit log of a running server: asked over REST, it names the first event that does not fit. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileStorage } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The end of the newest segment that is written: where its last two lines begin, and what they say. */
function tailOf(folder: string): { path: string; text: string; at: number; sequence: number } {
  const logs = join(folder, "logs", "audit");
  const name = readdirSync(logs).sort().at(-1) ?? "";
  const path = join(logs, name);
  const text = readFileSync(path, "utf8");
  const at = text.lastIndexOf("\n", text.lastIndexOf("\n", text.length - 2) - 1) + 1;
  return { path, text, at, sequence: Number(name.slice(0, 12)) + text.slice(0, at).split("\n").length - 1 };
}

type Tail = ReturnType<typeof tailOf>;

const faults: [name: string, damage: (tail: Tail) => void, first: (tail: Tail) => number][] = [
  ["is cut before its last two", ({ path, at }) => truncateSync(path, at), ({ sequence }) => sequence],
  ["is cut within a line", ({ path, at }) => truncateSync(path, at + 40), ({ sequence }) => sequence],
  [
    "has one changed bit",
    ({ path, text, at }) => {
      const bytes = Buffer.from(text);
      bytes[at + 60]! ^= 1;
      writeFileSync(path, bytes);
    },
    ({ sequence }) => sequence,
  ],
  [
    "has zeros in place of its last two",
    ({ path, text, at }) => writeFileSync(path, Buffer.from(text).fill(0, at)),
    ({ sequence }) => sequence,
  ],
  ["is empty", ({ path }) => truncateSync(path, 0), ({ path }) => Number(path.slice(-18, -6))],
  ["is gone", ({ path }) => rmSync(path), ({ path }) => Number(path.slice(-18, -6))],
];

test.each(faults)(
  "an audit log whose newest file %s is told as such, not as a failure",
  async (_, damage, first) => {
    const folder = mkdtempSync(join(temporaryFolder(), "data-"));
    const key = join(temporaryFolder(), "key");
    const { publicKey } = createKeyFile(key);
    const sizes = { segmentBytes: 16_384, minJournalBytes: 16_384, logSegmentBytes: 8_192 };
    const start = () =>
      startServer({
        storage: new FileStorage({ folder, ...sizes }),
        adminPublicKeys: [publicKey],
        listen: { port: 0 },
      });
    const server = await start();
    onTestFinished(() => server.close());
    const client = createClient({ url: server.url, signer: readSigner(key) });
    for (let days = 1; days <= 120; days++)
      await client.request("PUT", "/audit/retention", { body: { retention_days: days } });
    await expect
      .poll(() => readdirSync(join(folder, "logs", "audit")).length, { timeout: 30_000 })
      .toBeGreaterThan(2);
    expect(await client.audit.verify()).toMatchObject({ valid: true });
    // A checkpoint that is still under way would write over the damage, or begin the file that is damaged only afterwards.
    let tail = tailOf(folder);
    const before = () => tail.text;
    await expect
      .poll(() => [before(), (tail = tailOf(folder)).text], { timeout: 30_000, interval: 100 })
      .toSatisfy(([earlier, now]: string[]) => now !== "" && earlier === now);
    damage(tail);
    expect(await client.request("GET", "/audit/verify")).toMatchObject({
      valid: false,
      first_bad_sequence: first(tail),
    });
  },
);
