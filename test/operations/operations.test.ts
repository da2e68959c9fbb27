import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { endOf } from "../support/end-of-operation.ts";
import { startAgent, startApprovedAgent } from "../support/fleet.ts";

const web = `
name: web
resources:
  - { id: conf, type: directory, path: /etc/web, mode: "0750" }
  - { id: site, type: file, path: /etc/web/site.conf, mode: "0640", content: "listen 80\\n" }
  - { id: current, type: symlink, path: /etc/web/current, target: site.conf }
  - { id: warm, type: script, run: "echo warmed; echo once >> warmed", run_on: [site] }
`;

async function assign(orchestrator: Orchestrator, content: string, name = "web"): Promise<void> {
  await orchestrator.modules.upload(systemCaller, { content });
  await orchestrator.assignments.create(systemCaller, { name, selector: "*", modules: [name] });
}

describe("an agent's machine", () => {
  it("is planned, applied, left alone when in sync, found drifted, repaired, and cleaned of what is no longer desired", async () => {
    await using test = await createTestOrchestrator();
    const { operations, drift, modules } = test.orchestrator;
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id, root } = agent;
    await assign(test.orchestrator, web);
    const site = join(root, "etc/web/site.conf");

    const plan = await operations.plan(systemCaller, { node_id });
    expect(plan).toMatchObject({ status: "succeeded", counts: { total: 4, would_change: 4 } });
    expect(existsSync(site)).toBe(false);

    const apply = await operations.apply(systemCaller, { node_id });
    expect(apply).toMatchObject({ status: "succeeded", counts: { total: 4, changed: 4 } });
    expect(readFileSync(site, "utf8")).toBe("listen 80\n");
    expect(readFileSync(join(root, "warmed"), "utf8")).toBe("once\n");
    const output = await operations.output(systemCaller, { node_id, operation_id: apply.operation_id });
    expect(output.output).toMatchObject([{ resource_id: "warm", stream: "stdout", text: "warmed\n" }]);

    const again = await operations.apply(systemCaller, { node_id });
    expect(again).toMatchObject({ status: "succeeded", counts: { changed: 0, unchanged: 4 } });
    expect(await drift.check(systemCaller, { node_id })).toMatchObject({ status: "in_sync" });

    writeFileSync(site, "listen 8080\n");
    chmodSync(site, 0o666);
    const found = await drift.check(systemCaller, { node_id });
    expect(found).toMatchObject({ status: "drifted", counts: { would_change: 1 } });
    const drifted = found.resources.find((resource) => resource.outcome === "would_change");
    expect(drifted).toMatchObject({ resource_id: "site", identity: "/etc/web/site.conf" });
    expect(drifted?.changes.map((change) => change.property).sort()).toEqual(["content", "mode"]);
    expect(await drift.latest(systemCaller, { node_id })).toEqual(found);

    await operations.apply(systemCaller, { node_id });
    expect(readFileSync(site, "utf8")).toBe("listen 80\n");
    expect(await drift.check(systemCaller, { node_id })).toMatchObject({ status: "in_sync" });
    const told = test.events
      .map((event) => event.event_type)
      .filter((type) => /^drift\.(detected|resolved)$/.test(type));
    expect(told).toEqual(["drift.detected", "drift.resolved"]);

    await modules.upload(systemCaller, { content: web.replace(/^.*id: current.*\n/m, "") });
    const removal = await operations.plan(systemCaller, { node_id });
    expect(removal.counts).toMatchObject({ would_change: 1, removed: 1 });
    const believed = await operations.believed(systemCaller, { node_id });
    expect(believed.pending_removals).toMatchObject([{ resource_id: "current" }]);
    await operations.apply(systemCaller, { node_id });
    expect(existsSync(join(root, "etc/web/current"))).toBe(false);
    expect(existsSync(site)).toBe(true);
    const { items } = await operations.list(systemCaller, { kind: "apply" });
    expect(items).toHaveLength(4);
    const since = new Date(test.clock.now());
    expect((await operations.list(systemCaller, { from: since.toISOString() })).items).toHaveLength(6);
    since.setMilliseconds(since.getMilliseconds() + 1);
    expect((await operations.list(systemCaller, { from: since.toISOString() })).items).toEqual([]);
    expect(test.loggedErrors).toEqual([]);
  });

  it("gets back what stood before when a file is no longer desired", async () => {
    await using test = await createTestOrchestrator();
    const { operations, assignments } = test.orchestrator;
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id, root } = agent;
    const motd = join(root, "etc/motd");
    writeFileSync(motd, "ours since 1999\n", { mode: 0o600 });
    await assign(
      test.orchestrator,
      'name: motd\nresources:\n  - { type: file, path: /etc/motd, content: "new\\n" }\n',
      "motd",
    );
    await operations.apply(systemCaller, { node_id });
    expect(readFileSync(motd, "utf8")).toBe("new\n");
    await assignments.remove(systemCaller, { name: "motd" });
    await expect(operations.apply(systemCaller, { node_id })).rejects.toMatchObject({
      code: "EMPTY_DESIRED_STATE",
    });
    const removal = await operations.apply(systemCaller, { node_id, allow_empty: true });
    expect(removal).toMatchObject({ status: "succeeded", counts: { removed: 1 } });
    expect(readFileSync(motd, "utf8")).toBe("ours since 1999\n");
  });

  it("is not touched where the agent is unknown, pending or away, and the refusal says so", async () => {
    await using test = await createTestOrchestrator();
    const { operations, agents } = test.orchestrator;
    const unknown = operations.plan(systemCaller, { node_id: "0".repeat(32) });
    await expect(unknown).rejects.toMatchObject({ code: "NOT_FOUND" });
    const agent = await startAgent(test);
    const { nodeId: node_id } = agent;
    await expect(operations.plan(systemCaller, { node_id })).rejects.toMatchObject({
      code: "AGENT_NOT_APPROVED",
    });
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await expect(test.orchestrator.drift.check(systemCaller, { node_id })).rejects.toMatchObject({
      code: "NO_BASELINE",
    });
    await agent.agent.stop();
    await expect(operations.apply(systemCaller, { node_id })).rejects.toMatchObject({
      code: "AGENT_OFFLINE",
    });
    expect((await operations.list(systemCaller)).items).toEqual([]);
  });

  it("waits for an agent that is away where the call says so, and carries it out when it comes", async () => {
    await using test = await createTestOrchestrator();
    const { operations } = test.orchestrator;
    const first = await startApprovedAgent(test);
    const { nodeId: node_id, root, stateDir } = first;
    await assign(test.orchestrator, web);
    await first.agent.stop();
    const queued = await operations.apply(systemCaller, { node_id, when_offline: "queue", wait_seconds: 0 });
    expect(queued.status).toBe("queued");
    await using again = await startAgent(test, { root, stateDir });
    const ended = await endOf(servicesOf(test.orchestrator).operations, queued.operation_id, 60);
    expect(ended.status).toBe("succeeded");
    expect(again.nodeId).toBe(node_id);
  });

  it("lets a queued apply expire, and cancels one that waits", async () => {
    await using test = await createTestOrchestrator();
    const { operations } = test.orchestrator;
    const agent = await startApprovedAgent(test);
    const { nodeId: node_id } = agent;
    await assign(test.orchestrator, web);
    await agent.agent.stop();
    const options = { node_id, when_offline: "queue", wait_seconds: 0 } as const;
    const first = await operations.apply(systemCaller, { ...options, expires_in_seconds: 60 });
    const second = await operations.apply(systemCaller, options);
    const cancelled = await operations.cancel(systemCaller, { operation_id: second.operation_id });
    expect(cancelled.status).toBe("cancelled");
    await test.clock.advance(61_000);
    const expired = await operations.get(systemCaller, { operation_id: first.operation_id });
    expect(expired).toMatchObject({ status: "failed", error: { code: "AGENT_OFFLINE" } });
    const late = operations.cancel(systemCaller, { operation_id: first.operation_id });
    await expect(late).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("is asked of one apply at a time: a second waits for the first", async () => {
    await using test = await createTestOrchestrator();
    const { operations } = test.orchestrator;
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id, root } = agent;
    const gate = join(root, "gate");
    const slow = `name: web\nresources:\n  - { id: slow, type: script, creates: /done, run: "while [ ! -e gate ]; do sleep 0.02; done; touch done" }\n`;
    await assign(test.orchestrator, slow);
    const first = await operations.apply(systemCaller, { node_id, wait_seconds: 0 });
    const second = await operations.apply(systemCaller, { node_id, wait_seconds: 0 });
    expect(second.status).toBe("queued");
    writeFileSync(gate, "");
    expect(
      (await endOf(servicesOf(test.orchestrator).operations, first.operation_id, 60)).counts,
    ).toMatchObject({ changed: 1 });
    expect(
      (await endOf(servicesOf(test.orchestrator).operations, second.operation_id, 60)).counts,
    ).toMatchObject({ unchanged: 1 });
    rmSync(gate);
  });
});

describe("a rollout", () => {
  it("carries an assignment out on every agent that it matches, and tells of each", async () => {
    await using test = await createTestOrchestrator();
    const { rollouts, agents } = test.orchestrator;
    await using one = await startApprovedAgent(test);
    await using two = await startApprovedAgent(test);
    await assign(test.orchestrator, web);
    const rollout = await rollouts.apply(systemCaller, { name: "web" });
    expect(rollout).toMatchObject({ status: "succeeded", matched: 2, counts: { succeeded: 2 } });
    for (const { root } of [one, two]) expect(existsSync(join(root, "etc/web/site.conf"))).toBe(true);
    await two.agent.stop();
    const partial = await rollouts.plan(systemCaller, { name: "web" });
    expect(partial).toMatchObject({ status: "partial", counts: { succeeded: 1, failed: 1 } });
    const { items } = await test.orchestrator.operations.list(systemCaller, {
      rollout_id: partial.rollout_id,
    });
    expect(items).toHaveLength(2);
    expect((await agents.list(systemCaller, { connected: false })).items).toHaveLength(1);
  });
});
