import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAgent } from "../../lib/agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { uuid } from "../support/agent-commands.ts";
import { firstApply, removal, secondApply } from "../support/kill-scenario.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";

const childPath = fileURLToPath(new URL("../support/agent-child.ts", import.meta.url));

describe.runIf(process.platform !== "win32")("an agent that is killed in the middle of an apply", () => {
  it("tells what it did, runs nothing again, and forgets nothing that it made", async () => {
    const machine = await killInTheMiddle();
    const { orchestrator, agent } = await startAgain(machine);

    // The first result was never acknowledged, the second operation was cut off.
    const first = await orchestrator.take("result");
    expect(first).toMatchObject({ operation_id: uuid(1), status: "succeeded" });
    const second = await orchestrator.take("result");
    expect(second).toMatchObject({ operation_id: uuid(2), status: "interrupted" });
    expect(second.results.map(({ identity, outcome }) => `${identity} ${outcome}`)).toEqual([
      "/before unchanged",
      "/made changed",
    ]);
    expect(machine.has("later")).toBe(false);

    // The same command again is answered with the same result.
    await orchestrator.send(agent.nodeId, secondApply);
    expect(await orchestrator.take("result")).toEqual(second);
    expect(machine.runs()).toBe(1);

    // What was made before and during the apply that was cut off is known, and can be taken away.
    await orchestrator.send(agent.nodeId, removal);
    const removed = await orchestrator.take("result");
    expect(removed).toMatchObject({ operation_id: uuid(3), status: "succeeded" });
    expect(machine.has("before")).toBe(false);
    expect(machine.has("made")).toBe(false);
    expect(machine.has("theirs")).toBe(true);
  });

  it("tells it again until it is acknowledged, also after one more restart", async () => {
    const machine = await killInTheMiddle();
    const { orchestrator, agent } = await startAgain(machine);
    const first = await orchestrator.take("result", (result) => result.operation_id === uuid(1));
    const second = await orchestrator.take("result", (result) => result.operation_id === uuid(2));
    await orchestrator.send(agent.nodeId, { type: "ack", operation_id: uuid(1) });
    const id = await orchestrator.send(agent.nodeId, { type: "attributes.refresh" });
    await orchestrator.take("reply", (reply) => reply.id === id);
    await agent.stop();

    const again = await startAgain(machine);
    expect(await again.orchestrator.take("result")).toEqual(second);
    await again.orchestrator.take("attributes");
    expect(again.orchestrator.heard).toEqual(["result", "attributes"]);
    // The result of an acknowledged operation is kept for a while, and it does not run again.
    const repeated = await again.orchestrator.send(again.agent.nodeId, firstApply);
    expect(await again.orchestrator.take("reply")).toEqual({ type: "reply", id: repeated });
    expect(await again.orchestrator.take("result", (result) => result.operation_id === uuid(1))).toEqual(
      first,
    );
    expect(machine.runs()).toBe(1);
  });
});

interface Machine {
  stateDir: string;
  root: string;
  seed: Uint8Array;
  has: (name: string) => boolean;
  /** How often the script ran. */
  runs: () => number;
}

/** Starts an agent in a process of its own and kills it while its script waits. */
async function killInTheMiddle(): Promise<Machine> {
  const folder = temporaryFolder();
  const [stateDir, root] = [join(folder, "state"), join(folder, "root")];
  mkdirSync(root);
  writeFileSync(join(root, "theirs"), "not ours");
  const [began, gate] = [join(root, "began"), join(root, "gate")];
  execFileSync("mkfifo", [began, gate]);
  const seed = nodeCrypto.createSigningKeyPair().secretKey;
  const child = spawn(process.execPath, ["--import", "tsx", childPath, stateDir, root, toHex(seed)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  // Opening a pipe waits for the other end: nothing goes on before the script runs.
  expect(await readFile(began, "utf8")).toBe("running\n");
  child.kill("SIGKILL");
  await once(child, "exit");
  // The script outlives its agent; let it end.
  writeFileSync(gate, "go\n");
  const runs = (): number => readFileSync(join(root, "runs"), "utf8").split("\n").length - 1;
  return { stateDir, root, seed, has: (name) => existsSync(join(root, name)), runs };
}

async function startAgain({ stateDir, root, seed }: Machine): Promise<{
  orchestrator: TestOrchestrator;
  agent: ReturnType<typeof createAgent>;
}> {
  const orchestrator = new TestOrchestrator(systemClock, seed);
  await orchestrator.start();
  const dial = async (): Promise<ReturnType<typeof orchestrator.transport.connect>> =>
    orchestrator.transport.connect();
  const agent = createAgent({ stateDir, root, dial });
  onTestFinished(() => agent.stop());
  await agent.start();
  return { orchestrator, agent };
}
