/** Texts that are cut to their longest never end in half a character: half of one can't be hashed. */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller, type ResourceResult } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { toPeerError } from "../../lib/agent/peer-error.ts";
import { commandFailed } from "../../lib/state/resources/shared/command.ts";
import { describeChange } from "../../lib/state/resources/shared/describe.ts";
import { failureParts } from "../../lib/state/run/state-result.ts";
import { newFolders, startApprovedAgent } from "../support/fleet.ts";
import { declare } from "../support/state-fixture.ts";

const smile = "\u{1F600}";
const half = /\p{Surrogate}/u;
const rows: Record<string, (shift: string) => string> = {
  "the name of a line": (shift) =>
    `resources:\n  - { id: l, type: line, path: /etc/motd, create: true, line: ${shift}${smile.repeat(2100)} }\n`,
  "the value by which a condition does not hold": (shift) =>
    `params:\n  x: { type: string, default: ${shift}${smile.repeat(400)} }\nresources:\n  - { id: f, type: file, path: /etc/motd, content: a, when: param.x = b }\n`,
};

it.each(Object.entries(rows).flatMap(([name, row]) => ["", "x"].map((shift) => [name, shift, row] as const)))(
  "%s is cut between two characters, %j",
  async (_name, shift, row) => {
    const test = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const agent = await startApprovedAgent(test, newFolders());
    onTestFinished(() => agent[Symbol.asyncDispose]());
    const { modules, operations } = test.orchestrator;
    await modules.upload(systemCaller, { content: `name: m\n${row(shift)}` });
    const node_id = agent.nodeId;
    const { operation_id } = await operations.apply(systemCaller, {
      node_id,
      modules: ["m"],
      wait_seconds: 60,
    });
    const { resources, ...operation } = await operations.get(systemCaller, { operation_id });
    expect(operation).toMatchObject({ status: "succeeded" });
    const [{ identity, message = "" }] = resources as [ResourceResult];
    expect(`${identity} ${message}`).not.toMatch(half);
    expect(test.loggedErrors).toEqual([]);
  },
);

it.each(["", "x"])(
  "a command of a run is told by its beginning, which ends with a character, %j",
  async (shift) => {
    const test = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    onTestFinished(() => test[Symbol.asyncDispose]());
    const agent = await startApprovedAgent(test, newFolders());
    onTestFinished(() => agent[Symbol.asyncDispose]());
    const { audit, runs } = test.orchestrator;
    const command = `echo ${shift}${smile.repeat(200)}`;
    const { rollout_id } = await runs.start(systemCaller, { selector: "*", command, wait_seconds: 60 });
    expect(await runs.get(systemCaller, { rollout_id })).toMatchObject({ status: "succeeded" });
    const { items } = await audit.list(systemCaller, { limit: 100 });
    expect(items.map(({ summary, target }) => `${summary} ${target?.name}`).join()).not.toMatch(half);
    expect(test.loggedErrors).toEqual([]);
  },
);

const [resource] = declare([{ type: "directory", path: "/srv" }]) as [ReturnType<typeof declare>[number]];
const failed = (stderr: string): OrchestratorError =>
  commandFailed(
    { argv: ["program"] },
    {
      exitCode: 1,
      signal: null,
      timedOut: false,
      stdout: "",
      stderr,
      truncated: { stdout: false, stderr: false },
    },
  );
const sayings: Record<string, (text: string) => string | undefined> = {
  "what a program says of its failure": (text) => failed(text).message,
  "why a resource failed": (text) =>
    failureParts(resource, new OrchestratorError("HOST_ERROR", { message: text })).message,
  "why an agent refuses": (text) =>
    toPeerError(new OrchestratorError("HOST_ERROR", { message: text })).message,
  "a change in one line": (text) => describeChange({ property: "content", before: text, after: null }),
};

it.each(Object.entries(sayings))("%s ends with a character", (_what, say) => {
  for (const shift of ["", "x"]) {
    const said = say(shift + smile.repeat(3000)) ?? "";
    expect(said.length).toBeLessThan(4097);
    expect(said).toContain(smile);
    expect(said).not.toMatch(half);
  }
});
