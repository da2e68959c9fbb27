/**
 * An agent killed at random moments while it gives a real daemon one configuration after another: after the next apply the
 * daemon runs with the one on the disk, and it was not told to read it again without need.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../lib/agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { configure } from "../support/owned/reloading-agent.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak } from "../support/soak.ts";
import { buildProgram } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";

const kills = Number(process.env["FLEETWRIGHT_TRIGGER_KILLS"] ?? (isSoak ? 200 : 50));

/** Prints its configuration at the start and whenever it is told to read it again; each print takes as long as it takes. */
const daemonScript = `
  echo $$ > pid
  trap 'cat conf >> printed' HUP
  while :; do sleep 60 & wait $!; kill $! 2>/dev/null; done
`;

test(`a daemon runs with the newest configuration after ${kills} kills`, { timeout: 900_000 }, async () => {
  const folder = temporaryFolder();
  const [stateDir, root] = [join(folder, "state"), join(folder, "root")];
  mkdirSync(root);
  const program = await buildProgram(
    new URL("../support/owned/reloading-agent.ts", import.meta.url),
    temporaryFolder(),
  );
  const daemon = spawn("/bin/sh", ["-c", daemonScript], { cwd: root, stdio: "ignore", detached: true });
  onTestFinished(() => void process.kill(-daemon.pid!, "SIGKILL"));
  const read = (name: string): string[] => {
    try {
      return readFileSync(join(root, name), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  await expect.poll(() => read("pid")).toEqual([String(daemon.pid)]);
  const seed = nodeCrypto.createSigningKeyPair().secretKey;
  const random = seededRandom(1);
  let caughtUp = 0;
  let number = 1;
  for (let kill = 0; kill < kills; kill += 1) {
    const agent = spawn(process.execPath, [program, stateDir, root, toHex(seed), String(number)]);
    let said = "";
    agent.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(agent.stdout, "data");
    // Every second one once the configuration has changed: on a machine of any speed some come before its trigger.
    if (kill % 2 === 1) {
      const before = read("conf")[0];
      while (read("conf")[0] === before) await sleep(1);
    }
    await sleep(random() * (kill % 2 === 1 ? 20 : 60));
    agent.kill("SIGKILL");
    await once(agent, "close");
    number = Number(said.trim().split("\n").at(-1));
    await settled(() => read("printed").length);
    const [onDisk, printed] = [read("conf"), read("printed")];
    const isBehind = onDisk.length > 0 && printed.at(-1) !== onDisk[0];
    const result = await applyOnce({ stateDir, root, seed }, number);
    expect(result.status).toBe("succeeded");
    await expect.poll(() => read("printed").at(-1)).toBe(String(number));
    if (isBehind) caughtUp += 1;
    // Once for each time it had to, and at most once more for the one that nobody lived to note.
    const times = read("printed").filter((each) => each === String(number)).length;
    expect(times, `configuration ${number}`).toBeLessThanOrEqual(2);
    const again = await applyOnce({ stateDir, root, seed }, number);
    expect(again.results.map(({ outcome }) => outcome)).toEqual(Array(3).fill("unchanged"));
    number += 1;
  }
  console.log(`Killed ${kills} times, ${caughtUp} of them between the change and its trigger.`);
  expect(caughtUp).toBeGreaterThan(kills / 10);
  // No configuration was skipped over that an apply had brought to its end, and none came back.
  const printed = read("printed").map(Number);
  expect(printed).toEqual(printed.toSorted((a, b) => a - b));
  expect(new Set(printed).size).toBe(number - 1);
  expect(printed.length - new Set(printed).size).toBeLessThanOrEqual(kills);
});

/** Resolves when what the daemon was told before the kill has come. */
async function settled(read: () => number): Promise<void> {
  for (let before = -1, now = read(); now !== before; now = read()) {
    before = now;
    await sleep(50);
  }
}

async function applyOnce(
  { stateDir, root, seed }: { stateDir: string; root: string; seed: Uint8Array },
  number: number,
) {
  const orchestrator = new TestOrchestrator(systemClock, seed);
  await orchestrator.start();
  const agent = createAgent({ stateDir, root, dial: async () => orchestrator.transport.connect() });
  await agent.start();
  await orchestrator.happened("connected");
  const operationId = crypto.randomUUID();
  await orchestrator.send(agent.nodeId, configure(operationId, number));
  const result = await orchestrator.take("result", (each) => each.operation_id === operationId);
  await agent.stop();
  return result;
}
