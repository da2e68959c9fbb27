import { describe, expect, it, vi } from "vitest";
import { isOrchestratorError, OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { findFreeName, takeName } from "../../lib/agents/agent-names.ts";
import { isNotified } from "../../lib/notifications/inbox/notified-events.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { Write } from "../../lib/storage/storage.ts";

const introductionOf = (n: number, token?: string) => ({
  node_id: n.toString(16).padStart(32, "0"),
  public_key: n.toString(16).padStart(64, "0"),
  box_public_key: "0".repeat(64),
  hostname: `machine-${n}`,
  platform: "linux",
  agent_version: "1.0.0",
  remote_address: `192.0.${n >> 8}.${n % 256}`,
  ...(token !== undefined && { enrolment_token: token }),
});

/** How an agent that comes is taken in: its status, or the code that it is refused with. */
async function come(test: TestOrchestrator, n: number, token?: string): Promise<string> {
  const { enrolment } = servicesOf(test.orchestrator).agents;
  try {
    return (await enrolment.admit(introductionOf(n, token))).status;
  } catch (error) {
    if (isOrchestratorError(error)) return error.code;
    throw error;
  }
}

const agentOf = (test: TestOrchestrator, n: number) =>
  test.orchestrator.agents.get(systemCaller, { node_id: introductionOf(n).node_id });

const refusalsOf = (test: TestOrchestrator) =>
  test.events.flatMap((event) => (event.event_type === "enrolmentToken.refused" ? [event.metadata] : []));

const reasonsOf = (test: TestOrchestrator): unknown[] => refusalsOf(test).map(({ reason }) => reason);

describe("an agent that comes with a token", () => {
  it("is approved and tagged in one step, and the use is counted and told", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const made = await enrolmentTokens.create(systemCaller, { uses: 2, name: "web", tags: { role: "web" } });
    const commit = vi.spyOn(test.storage, "commit");
    expect(await come(test, 1, made.token)).toBe("approved");
    expect(commit).toHaveBeenCalledTimes(1);
    const agent = await agentOf(test, 1);
    expect(agent).toMatchObject({
      status: "approved",
      name: "machine-1",
      tags: { role: "web" },
      approved_by: "enrolment token web",
    });
    const { items } = await test.orchestrator.audit.list(systemCaller, { order: "asc" });
    const own = items.filter(({ event_type }) => /^(agent|enrolmentToken)\./.test(event_type));
    const { id } = made;
    expect(own.map(({ event_type, target, metadata }) => [event_type, target?.id, metadata])).toEqual([
      ["enrolmentToken.created", id, { uses: 2, expires_at: made.expires_at, tags: { role: "web" } }],
      [
        "agent.enrolled",
        agent.node_id,
        { public_key: agent.public_key, removed_before: false, enrolment_token: id },
      ],
      ["agent.approved", agent.node_id, { before: "pending", after: "approved", enrolment_token: id }],
      ["enrolmentToken.used", id, { node_id: agent.node_id, used: 1, uses: 2 }],
    ]);
    expect(await enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 1, status: "active" });
  });

  it("leaves at the token when it was used last", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const { token, id, ...made } = await enrolmentTokens.create(systemCaller, { uses: 2 });
    for (const n of [1, 2, 3]) {
      await test.clock.advance(60_000);
      await come(test, n, token);
    }
    const second = new Date(Date.parse(made.created_at) + 120_000).toISOString();
    expect(await enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 2, last_used_at: second });
  });

  it("is found by the selectors that its tags match", async () => {
    await using test = await createTestOrchestrator();
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller, { tags: { role: "db" } });
    await come(test, 1, token);
    const { items } = await test.orchestrator.agents.list(systemCaller, { selector: "role=db" });
    expect(items.map(({ name }) => name)).toEqual(["machine-1"]);
  });

  it("costs no use when it comes again, with the same token or none", async () => {
    await using test = await createTestOrchestrator();
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller, { uses: 2 });
    for (const brought of [token, token, undefined]) expect(await come(test, 1, brought)).toBe("approved");
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 1 });
    expect(reasonsOf(test)).toEqual([]);
  });

  it("is approved where it waits already, with what it says of itself now; tags that an operator gave it count more", async () => {
    await using test = await createTestOrchestrator();
    const { agents, enrolmentTokens } = test.orchestrator;
    const { node_id } = introductionOf(1);
    expect(await come(test, 1)).toBe("pending");
    await agents.tags.replace(systemCaller, { node_id, tags: { role: "db", env: "prod" } });
    const tags = { role: "web", site: "a" };
    const { token } = await enrolmentTokens.create(systemCaller, { tags });
    const { enrolment } = servicesOf(test.orchestrator).agents;
    const now = { ...introductionOf(1, token), box_public_key: "1".repeat(64), hostname: "renamed" };
    expect(await enrolment.admit(now)).toEqual({ status: "approved" });
    expect(await agentOf(test, 1)).toMatchObject({
      name: "renamed",
      tags: { role: "db", env: "prod", site: "a" },
    });
    const stored = await test.storage.get<{ box_public_key: string }>("agents", node_id);
    expect(stored?.value.box_public_key).toBe("1".repeat(64));
    expect(test.events.filter(({ event_type }) => event_type === "agent.enrolled")).toHaveLength(1);
  });

  it("is no reason to notify operators, who are asked nothing", async () => {
    await using test = await createTestOrchestrator();
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller);
    await come(test, 1, token);
    await come(test, 2);
    const notified = test.events.filter((event) => isNotified(event));
    expect(notified.map(({ target }) => target?.name)).toEqual(["machine-2"]);
  });

  it("needs no slot of those that wait", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 1 });
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller);
    expect(await come(test, 1)).toBe("pending");
    expect(await come(test, 2)).toBe("RATE_LIMITED");
    expect(await come(test, 2, token)).toBe("approved");
  });
});

describe("a token for one machine", () => {
  it("lets one of a hundred in that come at once, and the others wait", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 200 });
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller);
    const all = Array.from({ length: 100 }, (_, n) => come(test, n + 1, token));
    const statuses = await Promise.all(all);
    expect(statuses.filter((status) => status === "approved")).toHaveLength(1);
    expect(statuses.filter((status) => status === "pending")).toHaveLength(99);
    const { items } = await test.orchestrator.agents.list(systemCaller, { status: "approved" });
    expect(items).toHaveLength(1);
    const token_ = await test.orchestrator.enrolmentTokens.get(systemCaller, { id });
    expect(token_).toMatchObject({ used: 1, status: "used_up" });
  });

  it("lets one in whichever process on one storage is asked", async () => {
    await using test = await createTestOrchestrator();
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller);
    const commit = test.storage.commit.bind(test.storage);
    let isOther = true;
    vi.spyOn(test.storage, "commit").mockImplementation(async (writes, options) => {
      if (isOther) {
        // Another process, which knows nothing of the queue of this one.
        isOther = false;
        const stored = await test.storage.get<Record<string, never>>("enrolment_tokens", id);
        const value = { ...stored!.value, used: 1 };
        await commit([
          { kind: "put", collection: "enrolment_tokens", key: id, value, expected: stored!.revision },
        ]);
      }
      return commit(writes, options);
    });
    expect(await come(test, 1, token)).toBe("pending");
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 1 });
    expect(reasonsOf(test)).toEqual(["used_up"]);
  });
});

describe("machines of one hostname", () => {
  const hostname = "vm.example.org";

  it("are numbered while they are few, and each costs one read of names however many they are", async () => {
    await using test = await createTestOrchestrator();
    const { enrolment } = servicesOf(test.orchestrator).agents;
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller, { uses: 100 });
    const get = vi.spyOn(test.storage, "get");
    const getMany = vi.spyOn(test.storage, "getMany");
    const all = Array.from({ length: 100 }, (_, n) => ({ ...introductionOf(n + 1, token), hostname }));
    for (const each of all) expect(await enrolment.admit(each)).toEqual({ status: "approved" });
    const read = [...get.mock.calls, ...getMany.mock.calls].map(([collection]) => collection);
    const ofNames = read.filter((collection) => collection === "agent_names");
    expect(ofNames).toHaveLength(100);
    const names: (string | undefined)[] = [];
    for (let n = 1; n <= 100; n += 1) names.push((await agentOf(test, n)).name);
    expect(names.slice(0, 9)).toEqual(["vm", ...[2, 3, 4, 5, 6, 7, 8, 9].map((number) => `vm-${number}`)]);
    expect(names.slice(9, 11)).toEqual(["vm-00000000", `vm-${introductionOf(11).node_id}`]);
    expect(new Set(names).size).toBe(100);
  });

  it("get a name of their own also where somebody has named others after their id", async () => {
    await using test = await createTestOrchestrator();
    const { node_id: nodeId } = introductionOf(1);
    const query = { wanted: "v".repeat(64), nodeId, isContended: true };
    const names: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const name = await findFreeName(test.storage, query);
      names.push(name);
      await test.storage.commit([takeName(name, nodeId)]);
    }
    const suffixes = ["-00000000", `-${nodeId}`, `-${nodeId}-2`, `-${nodeId}-3`];
    expect(names).toEqual(suffixes.map((suffix) => suffix.padStart(64, "v")));
  });
});

describe("a token that does not count leaves its agent waiting, and operators are told why:", () => {
  it.each([
    ["is right", 0],
    ["was set ahead", 86_400_000],
    ["was set back", -86_400_000],
  ])("it has expired, by the time that never goes back, made while the clock %s", async (_how, jumpMs) => {
    await using test = await createTestOrchestrator();
    test.clock.jump(jumpMs);
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller, {
      expires_in_seconds: 60,
      uses: 5,
    });
    await test.clock.advance(59_999);
    expect(await come(test, 1, token)).toBe("approved");
    await test.clock.advance(1);
    expect(await come(test, 2, token)).toBe("pending");
    expect(reasonsOf(test)).toEqual(["expired"]);
  });

  it("an operator removes its key in the moment in which it comes", async () => {
    await using test = await createTestOrchestrator();
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller, { uses: 2 });
    const commit = test.storage.commit.bind(test.storage);
    vi.spyOn(test.storage, "commit").mockImplementationOnce(async (writes, options) => {
      const { key } = writes.find(
        (write) => write.kind === "put" && write.collection === "agents",
      ) as Extract<Write, { kind: "put" }>;
      await commit([{ kind: "put", collection: "removed_agents", key, value: { node_id: key } }]);
      return commit(writes, options);
    });
    expect(await come(test, 1, token)).toBe("pending");
    expect(reasonsOf(test)).toEqual(["agent_removed"]);
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 0 });
  });

  it("it was revoked, be it in the middle of many", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const { token, id } = await enrolmentTokens.create(systemCaller, { uses: 50 });
    const before = [1, 2, 3].map((n) => come(test, n, token));
    const revoked = enrolmentTokens.revoke(systemCaller, { id });
    const statuses = await Promise.all(before);
    await revoked;
    const { used, status } = await enrolmentTokens.get(systemCaller, { id });
    expect(status).toBe("revoked");
    expect(statuses.filter((each) => each === "approved")).toHaveLength(used);
    expect(await come(test, 4, token)).toBe("pending");
    expect(reasonsOf(test)).toContain("revoked");
  });

  it.each([
    ["another", () => `fwt_${"A".repeat(43)}`],
    ["in other letters", (token: string) => token.toUpperCase()],
    ["with a blank behind it", (token: string) => `${token} `],
    ["without its end", (token: string) => token.slice(0, -1)],
    ["of no form", () => "letmein"],
  ])("it is %s", async (_, toWrong) => {
    await using test = await createTestOrchestrator();
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller);
    expect(await come(test, 1, toWrong(token))).toBe("pending");
    expect(reasonsOf(test)).toEqual(["unknown"]);
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 0 });
  });

  it("an operator has rejected the agent, or removed it then", async () => {
    await using test = await createTestOrchestrator();
    const { agents, enrolmentTokens } = test.orchestrator;
    const { token, id } = await enrolmentTokens.create(systemCaller);
    const { node_id } = introductionOf(1);
    await come(test, 1);
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    expect(await come(test, 1, token)).toBe("rejected");
    await agents.remove(systemCaller, { node_id });
    expect(await come(test, 1, token)).toBe("pending");
    expect(reasonsOf(test)).toEqual(["agent_rejected", "agent_removed"]);
    expect(await enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 0 });
  });

  it.each([
    ["each time with the token", [true, true, true]],
    ["first without it", [false, true, true]],
  ])("the agent was removed, however often it comes since: %s", async (_, visits) => {
    await using test = await createTestOrchestrator();
    const { agents, enrolmentTokens } = test.orchestrator;
    const { token, id } = await enrolmentTokens.create(systemCaller);
    const { node_id } = introductionOf(1);
    await come(test, 1);
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agents.remove(systemCaller, { node_id });
    for (const brings of visits) expect(await come(test, 1, brings ? token : undefined)).toBe("pending");
    expect(reasonsOf(test)).toEqual(["agent_removed"]);
    expect(await enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 0 });
    // An operator who approves it has the last word, and it costs no use.
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    expect(await come(test, 1, token)).toBe("approved");
    expect(await enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 0 });
  });

  it("the agent would have more tags than fit", async () => {
    await using test = await createTestOrchestrator();
    const tagsOf = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, "x"]));
    const { node_id } = introductionOf(1);
    await come(test, 1);
    await test.orchestrator.agents.tags.replace(systemCaller, { node_id, tags: tagsOf("a", 40) });
    const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller, { tags: tagsOf("b", 25) });
    expect(await come(test, 1, token)).toBe("pending");
    expect(reasonsOf(test)).toEqual(["too_many_tags"]);
  });

  it("told again of an agent that brings another token, be it for the same reason", async () => {
    await using test = await createTestOrchestrator();
    const { enrolmentTokens } = test.orchestrator;
    const revoked = [await enrolmentTokens.create(systemCaller), await enrolmentTokens.create(systemCaller)];
    for (const { id } of revoked) await enrolmentTokens.revoke(systemCaller, { id });
    for (const { token } of [...revoked, revoked[1]!]) expect(await come(test, 1, token)).toBe("pending");
    const told = test.events.filter(({ event_type }) => event_type === "enrolmentToken.refused");
    expect(told.map(({ target }) => target?.id)).toEqual(revoked.map(({ id }) => id));
  });

  it("told once of one agent, and so often a minute of strangers", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 1_000 });
    for (let n = 0; n < 5; n += 1) await come(test, 1, "wrong");
    expect(reasonsOf(test)).toEqual(["unknown"]);
    // All of one address: ten a minute of it.
    const { enrolment } = servicesOf(test.orchestrator).agents;
    for (let n = 2; n < 60; n += 1)
      await enrolment.admit({ ...introductionOf(n, "wrong"), remote_address: "198.51.100.1" });
    expect(reasonsOf(test)).toHaveLength(11);
    // Of many addresses: sixty a minute of all.
    for (let n = 60; n < 200; n += 1) await come(test, n, "wrong");
    expect(reasonsOf(test)).toHaveLength(60);
  });

  it("with how many before it were not, be it that enough was told of others", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 1_000 });
    const { enrolment } = servicesOf(test.orchestrator).agents;
    const comeFrom = (n: number, remote_address: string) =>
      enrolment.admit({ ...introductionOf(n, "wrong"), remote_address });
    const address = "198.51.100.1";
    for (let n = 1; n <= 60; n += 1) await comeFrom(n, `203.0.113.${n}`);
    for (let n = 61; n <= 65; n += 1) await comeFrom(n, address);
    expect(reasonsOf(test)).toHaveLength(60);
    await test.clock.advance(60_000);
    await comeFrom(66, address);
    expect(refusalsOf(test).at(-1)).toMatchObject({ remote_address: address, unrecorded: 5 });
  });

  it("when there is space again, where the disk was full, with how many before it were not", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 1_000 });
    const { enrolment } = servicesOf(test.orchestrator).agents;
    const comeOnce = (n: number) =>
      enrolment.admit({ ...introductionOf(n, "wrong"), remote_address: "198.51.100.1" });
    for (let n = 1; n <= 13; n += 1) await comeOnce(n);
    expect(refusalsOf(test)).toHaveLength(10);
    await test.clock.advance(60_000);
    const commit = vi.spyOn(test.storage, "commit");
    commit.mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
    await comeOnce(14);
    expect(refusalsOf(test)).toHaveLength(10);
    await comeOnce(14);
    const { node_id } = introductionOf(14);
    expect(refusalsOf(test).slice(10)).toMatchObject([{ node_id, unrecorded: 3 }]);
  });
});

describe("where the step is not written", () => {
  it("neither the agent is approved nor the use counted, and the next attempt makes both", async () => {
    await using test = await createTestOrchestrator();
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller);
    const commit = vi.spyOn(test.storage, "commit");
    commit.mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
    expect(await come(test, 1, token)).toBe("STORAGE_FULL");
    expect(await test.storage.get("agents", introductionOf(1).node_id)).toBeNull();
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 0 });
    expect(await come(test, 1, token)).toBe("approved");
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 1 });
  });

  it("but was written all the same, as of a process that is killed right after it, the agent is in and costs no second use", async () => {
    await using test = await createTestOrchestrator();
    const { token, id } = await test.orchestrator.enrolmentTokens.create(systemCaller, { uses: 2 });
    const commit = test.storage.commit.bind(test.storage);
    vi.spyOn(test.storage, "commit").mockImplementationOnce(async (writes, options) => {
      await commit(writes, options);
      throw new OrchestratorError("STORAGE_FAILED");
    });
    expect(await come(test, 1, token)).toBe("STORAGE_FAILED");
    expect(await come(test, 1, token)).toBe("approved");
    expect(await test.orchestrator.enrolmentTokens.get(systemCaller, { id })).toMatchObject({ used: 1 });
  });
});
