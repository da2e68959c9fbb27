/** An upload is judged by who gets it: an assignment that is pinned to an earlier revision does not. */
import { expect, test } from "vitest";
import { systemCaller, type OrchestratorError } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";

const moduleOf = (name: string, content: string): string =>
  `name: ${name}\nresources:\n  - { type: file, path: /etc/motd, content: "${content}" }\n`;

const uses = {
  "one assignment": [["first", ["WEB", "base"]]],
  "two assignments": [
    ["first", ["WEB"]],
    ["second", ["base"]],
  ],
} as const;

const rows = Object.entries(uses).flatMap(([what, assigned]) =>
  [
    ["web", "RESOURCE_CONFLICT"],
    ["web@1", "taken"],
    ["web@3", "taken"],
  ].map(([reference, outcome]) => [outcome!, reference!, what, assigned] as const),
);

test.each(rows)(
  "%s: another web beside %s and a base that contradicts it, of %s",
  async (outcome, reference, _what, assigned) => {
    await using fleet = await createTestOrchestrator();
    await using _agent = await startApprovedAgent(fleet);
    const { assignments, modules } = fleet.orchestrator;
    const upload = async (name: string, content: string): Promise<unknown> =>
      modules.upload(systemCaller, { content: moduleOf(name, content) });
    await upload("base", "same");
    for (const content of ["same", "other", "same"]) await upload("web", content);
    const named = (name: string): string => (name === "WEB" ? reference : name);
    for (const [name, used] of assigned)
      await assignments.create(systemCaller, { name, selector: "*", modules: used.map(named) });
    const uploading = upload("web", "another").then(
      () => "taken",
      ({ code }: OrchestratorError) => code,
    );
    expect(await uploading).toBe(outcome);
  },
);
