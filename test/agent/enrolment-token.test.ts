import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createAgent, type AgentOptions } from "fleetwright/agent";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { EnrolmentToken } from "../../lib/agent/enrolment-token.ts";
import { eventOf, newFolders } from "../support/fleet.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const token = `fwt_${"a".repeat(43)}`;

function scene() {
  const stateDir = temporaryFolder();
  const logger = new RecordingLogger();
  const open = (given?: string) => new EnrolmentToken({ stateDir, crypto: nodeCrypto, logger }, given);
  return { open, logger, path: join(stateDir, "enrolled.json") };
}

/** Starts an agent over the memory transport and waits until it is connected. */
async function start(test: TestOrchestrator, options: Partial<AgentOptions>) {
  const logger = new RecordingLogger();
  const folders = newFolders();
  const orchestratorKey = toHex(test.orchestrator.publicKey);
  const dial = () => Promise.resolve(test.transport.connect());
  const agent = createAgent({ ...folders, logger, orchestratorKey, dial, ...options });
  await agent.start();
  await eventOf(test, "agent.connected", agent.nodeId!);
  return { agent, logger, ...folders, [Symbol.asyncDispose]: () => agent.stop() };
}

describe("EnrolmentToken", () => {
  it("is brought until the agent is approved, and then never again, also when it is given again", () => {
    const { open, logger } = scene();
    const first = open(token);
    expect(first.get()).toBe(token);
    first.answered("pending", true);
    expect(first.get()).toBe(token);
    first.answered("approved", true);
    for (const each of [first, open(token), open()]) expect(each.get()).toBeNull();
    expect(open("another").get()).toBe("another");
    expect(JSON.stringify(logger.lines)).not.toContain(token);
  });

  it("is brought again where the agent has to wait after it was approved, if it was given with this start", () => {
    const { open, logger } = scene();
    const first = open(token);
    first.answered("approved", true);
    for (const each of [first, open(token)]) {
      expect(each.answered("rejected", false)).toBe(false);
      expect(each.get()).toBeNull();
      expect(each.answered("pending", false)).toBe(true);
      expect(each.get()).toBe(token);
      expect(logger.of("warn")).toEqual([]);
      expect(each.answered("approved", true)).toBe(false);
      expect(each.get()).toBeNull();
    }
    expect(open().answered("pending", false)).toBe(false);
  });

  it("is told once in the log where it did not count, and where the orchestrator takes none", () => {
    for (const [wasSent, told] of [
      [true, /did not count/],
      [false, /takes no enrolment tokens/],
    ] as const) {
      const { open, logger } = scene();
      const given = open(token);
      for (let n = 0; n < 3; n += 1) given.answered("pending", wasSent);
      expect(logger.of("warn")).toEqual([expect.stringMatching(told)]);
    }
  });

  it("is nowhere in the state folder but as its hash, and is brought again where that is damaged", () => {
    const { open, path } = scene();
    open(token).answered("approved", true);
    expect(readFileSync(path, "utf8")).not.toContain(token);
    writeFileSync(path, "{");
    expect(open(token).get()).toBe(token);
  });

  it("is forgotten for as long as the agent runs where the disk takes no note of it", () => {
    const { open, logger, path } = scene();
    const given = open(token);
    mkdirSync(`${path}.new`);
    writeFileSync(join(`${path}.new`, "in-the-way"), "");
    given.answered("approved", true);
    expect(given.get()).toBeNull();
    expect(logger.of("warn")).toHaveLength(1);
    expect(open(token).get()).toBe(token);
  });
});

describe("an agent with a token", () => {
  it("is approved and tagged with its first connection, and does not bring it again after a restart", async () => {
    await using test = await createTestOrchestrator();
    const made = await test.orchestrator.enrolmentTokens.create(systemCaller, { tags: { role: "web" } });
    let nodeId = "";
    let stateDir = "";
    {
      await using started = await start(test, { enrolmentToken: made.token });
      nodeId = started.agent.nodeId!;
      stateDir = started.stateDir;
      const agent = await test.orchestrator.agents.get(systemCaller, { node_id: nodeId });
      expect(agent).toMatchObject({ status: "approved", tags: { role: "web" }, connected: true });
      expect(started.agent.status).toBe("approved");
      expect(started.logger.of("warn")).toEqual([]);
    }
    expect(existsSync(join(stateDir, "enrolled.json"))).toBe(true);
    await using again = await start(test, { stateDir, enrolmentToken: made.token });
    expect(again.agent.nodeId).toBe(nodeId);
    const { id } = made;
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 1 });
  });

  it("is approved again by a server that was restored from a backup of before it came", async () => {
    await using test = await createTestOrchestrator();
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller, { uses: 2 });
    let stateDir = "";
    let key = "";
    {
      await using started = await start(test, { enrolmentToken: token });
      stateDir = started.stateDir;
      key = started.agent.nodeId!;
    }
    await test.storage.commit([{ kind: "delete", collection: "agents", key }]);
    await using again = await start(test, { stateDir, enrolmentToken: token });
    await expect.poll(() => again.agent.status, { timeout: 30_000 }).toBe("approved");
    expect(again.logger.of("warn")).toEqual([]);
    expect(await test.orchestrator.agents.get(systemCaller, { node_id: key })).toMatchObject({
      approved_by: expect.stringContaining("enrolment token") as string,
    });
  });

  it("waits where the token is wrong, says so in its log, and is approved by an operator as any other", async () => {
    await using test = await createTestOrchestrator();
    await using started = await start(test, { enrolmentToken: token });
    const { agent, logger } = started;
    expect(agent.status).toBe("pending");
    expect(logger.of("warn")).toEqual([expect.stringMatching(/did not count/)]);
    expect(JSON.stringify(logger.lines)).not.toContain(token);
    await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId!, status: "approved" });
    await expect.poll(() => agent.status).toBe("approved");
    expect(existsSync(join(started.stateDir, "enrolled.json"))).toBe(true);
  });

  it("is not made without the key of the orchestrator that may have it, nor with what can be no token", () => {
    const options = { ...newFolders(), url: "ws://127.0.0.1:1/agent/v1" };
    const faultsOf = (given: Partial<AgentOptions>): unknown => {
      try {
        createAgent({ ...options, ...given });
      } catch (error) {
        return (error as { issues: unknown }).issues;
      }
      return null;
    };
    expect(faultsOf({ enrolmentToken: token })).toMatchObject([{ path: ["enrolmentToken"] }]);
    expect(faultsOf({ enrolmentToken: `${token} x`, orchestratorKey: "0".repeat(64) })).toMatchObject([
      { path: ["enrolmentToken"], message: expect.not.stringContaining(token) as string },
    ]);
    expect(faultsOf({ enrolmentToken: token, orchestratorKey: "0".repeat(64) })).toBeNull();
  });
});
