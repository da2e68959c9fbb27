/** What a check of a fleet folder refuses is what the server refuses of the same, with the same code and at the same place. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { MemoryStorage } from "fleetwright";
import { ApiError, createClient, type Client } from "fleetwright/client";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { startServer, type RunningServer } from "fleetwright/h3";
import { checkFolder } from "../../../adapters/sync/plan-folder.ts";
import { makeFolder, type FolderTexts } from "../../support/fleet-folder.ts";
import { emptyModule, refusedEntries } from "../../support/refused-entries.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";

let server: RunningServer;
let client: Client;
let keys: string;

beforeAll(async () => {
  keys = mkdtempSync(join(tmpdir(), "fleetwright-"));
  const key = join(keys, "admin");
  const { publicKey } = createKeyFile(key);
  server = await startServer({
    storage: new MemoryStorage(),
    secretsKey: new MemorySecretsKey(1),
    adminPublicKeys: [publicKey],
    listen: { port: 0 },
  });
  client = createClient({ url: server.url, signer: readSigner(key) });
  await client.secrets.create({ name: "s", value: "https://hooks.slack.com/services/T0/B0/x" });
});

afterAll(async () => {
  await server.close();
  rmSync(keys, { recursive: true });
});

interface Refused {
  code: string;
  paths: string[];
}

/** Sends what the files say as it is written, and resolves with what is refused. */
async function send(files: FolderTexts): Promise<Refused[]> {
  const refused: Refused[] = [];
  const attempt = async (call: () => Promise<unknown>): Promise<void> => {
    try {
      await call();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refused.push({
        code: error.code,
        paths: (error.problem.errors ?? []).map(({ pointer }) => toPath(pointer)),
      });
    }
  };
  for (const [path, text] of Object.entries(files))
    if (path.startsWith("modules/")) await attempt(() => client.modules.upload({ content: text }));
  for (const [path, text] of Object.entries(files)) {
    if (path.startsWith("modules/")) continue;
    for (const [kind, entries] of Object.entries(parse(text) as Record<string, Record<string, object>>))
      for (const [name, entry] of Object.entries(entries)) await attempt(() => create(kind, name, entry));
  }
  return refused;
}

function toPath(pointer: string): string {
  return pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
}

function create(kind: string, name: string, entry: object): Promise<unknown> {
  switch (kind) {
    case "assignments":
      return client.assignments.create({ name, ...entry } as never);
    case "windows":
      return client.maintenanceWindows.create(entry as never);
    case "channels":
      return client.channels.create(entry as never);
    case "thresholds":
      return client.thresholds.create(entry as never);
    default:
      return client.operators.add({ username: name, ...entry } as never);
  }
}

it("a label is refused by a check and by the server", async () => {
  const { faults } = await checkFolder(makeFolder({ "fleet.yaml": "label: Shop\n" }));
  expect(faults.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`)).toEqual([
    "fleet.yaml:1:8 VALIDATION_FAILED",
  ]);
  const managed = { managed_by: { label: "Shop", name: "x" } };
  const content = emptyModule("shop");
  await expect(client.modules.upload({ content, ...managed })).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
  });
});

it("a file that is too large for a module is refused by a check and by the server", async () => {
  const content = `${emptyModule("large")}# ${"x".repeat(524_288)}\n`;
  const { faults } = await checkFolder(
    makeFolder({ "fleet.yaml": "label: shop\n", "modules/large.yaml": content }),
  );
  expect(faults.map(({ file, code, message }) => `${file} ${code} ${message}`)).toEqual([
    "modules/large.yaml VALIDATION_FAILED The file is larger than 512 KiB.",
  ]);
  await expect(client.modules.upload({ content })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
});

describe.each(Object.entries(refusedEntries))("of %s", (_, rows) => {
  it.each(rows)("%s is refused by a check and by the server", async (_name, files, ...faults) => {
    const { faults: found } = await checkFolder(makeFolder({ ...files, "fleet.yaml": "label: shop\n" }));
    const told = found.map(({ file, line, column, code, path }) => {
      const inner = file.startsWith("modules/")
        ? path[0] === "modules"
          ? path.slice(2)
          : path
        : path.slice(2);
      return { place: `${file}:${line}:${column}`, code, path: inner.join(".") };
    });
    const refused = await send(files);
    const wanted = faults.map((fault) => fault.split(" "));
    expect(told.map(({ place, code }) => `${place} ${code}`)).toEqual(
      wanted.map(([place, code]) => `${place} ${code}`),
    );
    for (const [, code, path] of wanted) {
      const same = refused.find((each) => each.code === code);
      expect(same?.code).toBe(code);
      if (same!.paths.length > 0) expect(same!.paths).toContain(path);
    }
  });
});
