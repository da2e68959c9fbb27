import { z } from "zod";
import { rolloutStrategySchema } from "../assignments/schemas.ts";
import { idSchema, keyIdSchema, overrideWindowSchema, waitInput } from "../internal/common-schemas.ts";
import { operationStatusSchema, outputListSchema } from "../operations/schemas.ts";
import { rolloutSchema } from "../rollouts/schemas.ts";

/** Longest script, and all words of a command together, in characters. */
export const mostCharacters = 262_144;

const visible = (what: string): z.ZodString =>
  // A NUL ends an argument for the system, and what is behind it would be lost.
  z.string().regex(/^[^\0]*$/, `${what} must hold no NUL`);

/** Input of `runs.start`. */
export const startRunInput = z.strictObject({
  selector: z
    .string()
    .max(4096)
    .optional()
    .describe("The approved agents that it matches now; `*` for all. This, or `node_ids`."),
  node_ids: z.array(keyIdSchema).min(1).max(10_000).optional().describe("These agents."),
  command: z
    .union([
      visible("A command").min(1).max(mostCharacters),
      z.array(visible("A word").max(65_536)).min(1).max(1000),
    ])
    .optional()
    .describe(
      "A line for the shell, or a program with its arguments, which no shell sees. This, or `script`.",
    ),
  script: visible("A script").min(1).max(mostCharacters).optional().describe("A text for `interpreter`."),
  interpreter: z
    .array(visible("A word").min(1).max(4096))
    .min(1)
    .max(100)
    .optional()
    .describe("What reads `script` from its standard input. Default `/bin/sh -eu`."),
  user: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\$?$/, "must be a name or a number")
    .optional()
    .describe("Who runs it. Default the user of the agent."),
  cwd: visible("A path")
    .regex(/^\//, "must be absolute")
    .max(4096)
    .optional()
    .describe("Where it runs. Default `/`."),
  environment: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), visible("A value").max(131_072))
    .optional()
    .describe("Variables beside PATH, HOME and LANG. They are in no event and no answer."),
  timeout_seconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("How long it may run on an agent, then it is ended with all that it started. Default 300."),
  rollout: rolloutStrategySchema
    .optional()
    .describe("How it goes through the agents. Default all at once; agents that are away fail."),
  override_window: overrideWindowSchema.optional(),
  ...waitInput,
});

/** Names one run. */
export const runIdInput = z.strictObject({ rollout_id: idSchema });

/** Agents on which a run ended in the same way. */
export const runGroupSchema = z
  .object({
    count: z.number().int().describe("How many agents."),
    agents: z
      .array(z.object({ node_id: keyIdSchema, name: z.string(), operation_id: z.string().optional() }))
      .describe("The first 100 of them, by name."),
    status: operationStatusSchema,
    exit_code: z.number().int().optional().describe("What the command exited with; absent where it did not."),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    output: z
      .array(outputListSchema.shape.output.element.pick({ stream: true, text: true, truncated: true }))
      .describe("What it printed there, the first 16 KiB of each stream; all of it with the operation."),
  })
  .meta({ id: "RunGroup" });

/** Output of `runs.start`, `runs.get` and `runs.cancel`. */
export const runDetailSchema = rolloutSchema
  .extend({
    groups: z
      .array(runGroupSchema)
      .describe(
        "Agents on which it has ended, those that ended in the same way together, largest first; the first 100.",
      ),
    ungrouped: z.number().int().describe("Agents of further groups, which are left out."),
  })
  .meta({ id: "RunDetail" });

/** A command on agents, and what came of it. */
export type RunDetail = z.infer<typeof runDetailSchema>;
/**
 * Agents on which a run ended in the same way.
 *
 * @useDeclaredType
 */
export type RunGroup = z.infer<typeof runGroupSchema>;
