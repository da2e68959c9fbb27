/** A verb: takes all tags from an agent whose keys begin in one way. */
import { changelog, create, insert, together, type Places } from "./change.ts";

const method = `  /** Takes every tag from an agent, or those whose keys begin with \`prefix\`. */
  async clear(
    caller: Caller,
    input: z.input<typeof clearTagsInput>,
    options?: ChangeOptions,
  ): Promise<AgentTags> {
    const { node_id, prefix } = await this.#begin(caller, "tags.clear", () =>
      parseInput(clearTagsInput, input),
    );
    return this.#change({ caller, node_id, options, answers: true }, (tags) =>
      Object.fromEntries(Object.entries(tags).filter(([key]) => !key.startsWith(prefix ?? ""))),
    );
  }

`;

const procedure = `  clear: procedure
    .meta(
      route("tags.clear", "POST /agents/{node_id}/tags/clear", {
        tag,
        summary: "Remove all tags of an agent",
        description: "With \`prefix\` only those whose keys begin with it.",
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.clearTagsInput)
    .output(schemas.agentTagsSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.tags.clear(await ctx.caller(), input, ctx.change()),
    ),
`;

const test = `import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";

test("tags are taken by the way their keys begin", async () => {
  await using product = await createTestOrchestrator();
  await using agent = await startApprovedAgent(product);
  const node_id = agent.nodeId;
  const { tags } = product.orchestrator.agents;
  await tags.replace(systemCaller, { node_id, tags: { "site/a": "1", "site/b": "2", env: "test" } });
  const left = await tags.clear(systemCaller, { node_id, prefix: "site/" });
  expect(left.tags).toEqual({ env: "test" });
  expect((await tags.clear(systemCaller, { node_id })).tags).toEqual({});
});
`;

export const verb: Places = {
  Schema: insert(
    "lib/agents/schemas.ts",
    "/** Input of `agents.tags.remove`. */",
    `/** Input of \`agents.tags.clear\`. */
export const clearTagsInput = z.strictObject({
  node_id: keyIdSchema,
  prefix: tagKeySchema.optional().describe("Only tags whose keys begin with it."),
});
`,
  ),
  Method: together(
    insert("lib/agents/tag-verbs.ts", "  removeTagInput,\n  replaceTagsInput,", "  clearTagsInput,\n"),
    insert("lib/agents/tag-verbs.ts", "  async #begin<Input>", method),
  ),
  Permission: insert("lib/callers/permissions.ts", '  "modules.list"', '  "tags.clear": "Operator",\n'),
  Procedure: insert(
    "adapters/trpc/procedures/agents.ts",
    '  remove: procedure\n    .meta(\n      route("tags.remove"',
    procedure,
  ),
  "Example call": insert(
    "test/support/example-calls.ts",
    '  await session.call("tags.list");',
    '  await session.call("tags.clear", { node_id }, { prefix: "env" });\n',
  ),
  Test: create("test/agents/clear-tags.test.ts", test),
  Changelog: changelog("`tags.clear` takes all tags from an agent, or those whose keys begin in one way."),
};
