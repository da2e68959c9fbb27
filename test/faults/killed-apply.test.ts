/**
 * An agent killed at each call that writes, by strace, while it applies: what it had changed goes back, what it had only meant to
 * change is not its own, and keeps what an admin writes from then on. Skipped where there is no strace.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../lib/agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { killedPaths, killedRemoval } from "../support/owned/killed-apply.ts";
import { isSoak } from "../support/soak.ts";
import { buildProgram, hasStrace, runUnderStrace } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";

const calls = ["rename", "fsync", "write"];
/** Most calls of `write` are before and behind the apply. */
const stepOf = (call: string): number => (call === "write" && !isSoak ? 5 : 1);

if (!hasStrace)
  console.log(`Skipped: an agent killed at ${calls.length} kinds of calls, for lack of strace.`);

test.skipIf(!hasStrace)(
  "what an agent that was killed had not changed is never changed back",
  { timeout: 600_000 },
  async () => {
    const program = await buildProgram(
      new URL("../support/owned/applying-agent.ts", import.meta.url),
      temporaryFolder(),
    );
    const changedAtDeath = new Set<number>();
    for (const call of calls) {
      for (let place = 1, isThrough = false; !isThrough; place += stepOf(call)) {
        const killed = await killAt(program, call, place);
        isThrough = killed.isDone;
        if (!isThrough) changedAtDeath.add(killed.changed);
      }
    }
    // Killed before the first change, between any two, and behind the last.
    expect([...changedAtDeath].sort()).toEqual([0, 1, 2, 3, 4]);
  },
);

async function killAt(
  program: string,
  call: string,
  place: number,
): Promise<{ isDone: boolean; changed: number }> {
  const folder = temporaryFolder();
  const [stateDir, root] = [join(folder, "state"), join(folder, "root")];
  mkdirSync(root);
  const read = (name: string): string | null =>
    existsSync(join(root, name)) ? readFileSync(join(root, name), "utf8") : null;
  for (const name of killedPaths) if (name !== "new") writeFileSync(join(root, name), `theirs ${name}`);
  const before = killedPaths.map(read);
  const seed = nodeCrypto.createSigningKeyPair().secretKey;
  const inject = `inject=${call}:signal=KILL:when=${place}`;
  const options = ["-o", "/dev/null", "-e", `trace=${call}`, "-e", inject];
  const { isDone } = await runUnderStrace(options, [program, stateDir, root, toHex(seed)]);
  const atDeath = killedPaths.map(read);
  const ours = atDeath.map((text) => text === "ours");
  for (const [index, text] of atDeath.entries()) expect([before[index], "ours"]).toContain(text);

  const orchestrator = new TestOrchestrator(systemClock, seed);
  await orchestrator.start();
  const agent = createAgent({ stateDir, root, dial: async () => orchestrator.transport.connect() });
  onTestFinished(() => agent.stop());
  await agent.start();
  for (const [index, name] of killedPaths.entries())
    if (!ours[index]) writeFileSync(join(root, name), "edited");
  await orchestrator.happened("connected");
  await orchestrator.send(agent.nodeId, killedRemoval);
  const result = await orchestrator.take("result", ({ operation_id }) => operation_id.endsWith("2"));
  expect(result.status, `${call} ${place}`).toBe("succeeded");
  const expected = killedPaths.map((_name, index) => (ours[index] ? before[index] : "edited"));
  expect(killedPaths.map(read), `killed at ${call} ${place}`).toEqual(expected);
  await agent.stop();
  return { isDone, changed: ours.filter(Boolean).length };
}
