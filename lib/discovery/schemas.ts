import { z } from "zod";
import { approvalStatusSchema } from "../agents/schemas.ts";
import { keyIdSchema } from "../internal/common-schemas.ts";

/** A host name or an IP address, of IPv6 with its zone where that is needed. */
const targetSchema = z
  .string()
  .regex(/^[A-Za-z0-9_.:%-]{0,252}[A-Za-z0-9:]$/, "an IP address or a host name");

/** Input of `discovery.broadcast`. */
export const broadcastInput = z.strictObject({
  target: targetSchema
    .optional()
    .describe("One machine, or a broadcast address, in place of all networks of the server."),
  timeout_ms: z
    .number()
    .int()
    .min(100)
    .max(10_000)
    .default(1_500)
    .describe("How long answers are waited for. Agents spread theirs over half of it."),
});

/** Output of `discovery.broadcast`. */
export const discoveredSchema = z
  .object({
    sent_to: z.array(z.string()).describe("Addresses that the announcement was sent to."),
    responses: z
      .array(
        z.object({
          node_id: keyIdSchema,
          hostname: z.string().describe("As the machine says."),
          address: z.string().describe("Where the answer came from."),
          agent_version: z.string(),
          approval_status: approvalStatusSchema
            .or(z.literal("unknown"))
            .describe("`unknown`: it has not connected yet."),
        }),
      )
      .describe("Agents that answered, each once, by node_id; 1,000 at most."),
  })
  .meta({ id: "Discovered" });

/** What a call into the local network found. */
export type Discovered = z.infer<typeof discoveredSchema>;
