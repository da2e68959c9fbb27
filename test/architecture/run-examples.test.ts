/** The examples of verbs do what they say: each is called, on a real orchestrator with real agents. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { FileStorage, nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { createTestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";
import { serve } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { docExamples } from "./doc-examples.ts";

/** Calls examples by name. */
interface Examples {
  run(name: string, ...input: unknown[]): Promise<unknown>;
  /** Names of those that nobody has called yet. */
  left: Set<string>;
}

beforeEach(() => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
});

it("those of the library", async () => {
  await using product = await createTestOrchestrator({
    storage: new FileStorage({ folder: temporaryFolder() }),
  });
  const { orchestrator } = product;
  const { run: runAny, left } = await load("docs/library.md");
  const { caller } = await product.signIn("Admin");
  const ended = new AbortController();
  const run = (name: string, ...input: unknown[]) => runAny(name, orchestrator, caller, ...input);
  const following = run("follow", ended.signal);

  const key = newKey();
  await run("replaceOperator", key.publicKey);
  const ada = await runAny("signIn", orchestrator, key.secretKey);
  await runAny("signOut", orchestrator, ada);
  // With the second, a rollout has two batches; the time between them does not pass by itself.
  await using agent = await startApprovedAgent(product);
  await using other = await startApprovedAgent(product);
  for (const { nodeId } of [agent, other]) await run("label", nodeId);
  for (const name of ["admit", "publish", "assign"]) await run(name);
  for (const name of ["applyPlanned", "lookBack", "compare"]) await run(name, agent.nodeId);
  await product.storage.series?.append(agent.nodeId, [{ at: product.clock.now(), values: { "load.1": 1 } }]);
  await run("look", agent.nodeId);
  for (const name of ["rollOut", "review", "goOn"]) await run(name);
  await run("backUp", join(temporaryFolder(), "backup"));
  await run("uploadOnce", "key", "name: once\nresources: []\n");
  await run("retire", other.nodeId);
  expect(await runAny("isWell", orchestrator)).toBe(true);
  ended.abort();
  await following;
  expect([...left]).toEqual([]);
}, 60_000);

it("those of the client", async () => {
  const folder = temporaryFolder();
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
  await using product = await createTestOrchestrator({
    storage: new FileStorage({ folder: join(folder, "data") }),
  });
  await using server = await serve(product.orchestrator);
  const signer = createKeyFile("admin.pem");
  const { publicKey } = signer;
  await product.orchestrator.operators.add(systemCaller, {
    username: "admin",
    public_key: publicKey,
    role: "Admin",
  });
  const client = createClient({ url: server.url, signer });
  const { run: runAny, left } = await load("docs/client.md");
  const run = (name: string, ...input: unknown[]) => runAny(name, client, ...input);

  await run("administer", newKey().publicKey);
  await using agent = await startApprovedAgent(product);
  await using other = await startApprovedAgent(product);
  const ended = new AbortController();
  const following = run("follow", ended.signal);
  for (const { nodeId } of [agent, other]) {
    await run("tend", nodeId);
    await run("label", nodeId);
  }
  const module = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hello }\n";
  await run("declare", module);
  await run("tidy");
  for (const name of ["applyPlanned", "lookBack"]) await run(name, agent.nodeId);
  for (const name of ["rollOut", "keep"]) await run(name);
  await run("retire", other.nodeId);
  ended.abort();
  await following;
  // It looks on for as long as the program runs.
  expect([...left]).toEqual(["raw"]);
}, 60_000);

/** What the blocks of a guide export. */
async function load(guide: string): Promise<Examples> {
  const folder = temporaryFolder();
  const examples: Record<string, (...input: unknown[]) => Promise<unknown>> = {};
  for (const { line, text } of docExamples().filter((example) => example.guide === guide)) {
    if (!/^export async function/m.test(text)) continue;
    const path = join(folder, `example-${line}.ts`);
    writeFileSync(path, text);
    Object.assign(examples, await import(/* @vite-ignore */ pathToFileURL(path).href));
  }
  const left = new Set(Object.keys(examples));
  const run = (name: string, ...input: unknown[]) => {
    left.delete(name);
    return examples[name]!(...input);
  };
  return { run, left };
}

function newKey(): { secretKey: Uint8Array; publicKey: string } {
  const { secretKey, publicKey } = nodeCrypto.createSigningKeyPair();
  return { secretKey, publicKey: toHex(publicKey) };
}
