/** Lists by the beginning of an id: at least four characters of it, as it is written, and no more than there are. */
import { expect, it } from "vitest";
import { type Orchestrator, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

type List = (orchestrator: Orchestrator, id_prefix: string) => Promise<{ items: unknown[] }>;

/** Every list that takes one. */
const lists: Record<string, List> = {
  agents: ({ agents }, id_prefix) => agents.list(systemCaller, { id_prefix }),
  operations: ({ operations }, id_prefix) => operations.list(systemCaller, { id_prefix }),
  rollouts: ({ rollouts }, id_prefix) => rollouts.list(systemCaller, { id_prefix }),
  terminals: ({ terminals }, id_prefix) => terminals.list(systemCaller, { id_prefix }),
};

const id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";

it.each(Object.entries(lists))("of %s", async (_, list) => {
  await using test = await createTestOrchestrator();
  for (const id_prefix of [id.slice(0, 4), id.slice(0, 9), id, "f---"])
    expect((await list(test.orchestrator, id_prefix)).items).toEqual([]);
  for (const id_prefix of ["", "0", id.slice(0, 3), `${id}0`, id.toUpperCase(), "-abc", "wxyz", "abc "])
    await expect(list(test.orchestrator, id_prefix), id_prefix).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["id_prefix"], message: "must be the beginning of an id, at least 4 characters" }],
    });
});
