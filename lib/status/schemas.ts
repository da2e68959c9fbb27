import { z } from "zod";

/** Output of `status.get`. */
export const statusSchema = z
  .object({
    status: z.enum(["ok", "degraded"]),
    protocol_version: z.number().int().describe("Newest agent protocol that is spoken."),
    protocol_min_version: z.number().int(),
    version: z.string(),
    public_key: z.string().describe("The orchestrator's Ed25519 key, hex: what agents pin."),
    agent_url: z
      .string()
      .optional()
      .describe("Where agents reach the orchestrator, if the option `agentUrl` says so."),
    checks: z
      .array(z.object({ name: z.string(), status: z.enum(["ok", "failed"]), detail: z.string().optional() }))
      .optional()
      .describe("Only for those who signed in."),
  })
  .meta({ id: "Status" });

/** Whether the orchestrator works, and what it speaks. */
export type Status = z.infer<typeof statusSchema>;
