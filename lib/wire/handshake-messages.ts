/** The messages by which both sides prove who they are. `hello` and `welcome` travel as text, the others sealed. */
import { z } from "zod";
import { epochSchema } from "./epoch.ts";
import { maxTokenLength } from "./limits.ts";

const bytes32 = z.string().regex(/^[0-9a-f]{64}$/);
const signature = z.string().regex(/^[0-9a-f]{128}$/);

/** What an orchestrator thinks of an agent that has proved its key. */
export const agentStatusSchema = z.enum(["pending", "approved", "rejected"]);

/** Agent, first frame. Public keys, ephemeral key and nonce: 32 bytes in lower-case hex. */
export const helloSchema = z.strictObject({
  type: z.literal("hello"),
  versions: z.array(z.number().int().min(1).max(65_535)).min(1).max(16),
  node_public_key: bytes32,
  box_public_key: bytes32,
  ephemeral_key: bytes32,
  agent_version: z.string().min(1).max(64),
  nonce: bytes32,
  /** Whether the agent can bind the handshake to the TLS connection that it sees. */
  channel_binding: z.boolean(),
});

/** Orchestrator, first frame. */
export const welcomeSchema = z.strictObject({
  type: z.literal("welcome"),
  version: z.number().int().min(1).max(65_535),
  public_key: bytes32,
  ephemeral_key: bytes32,
  nonce: bytes32,
  /** True exactly when both sides see a TLS connection: then the transcript covers its exporter. */
  channel_binding: z.boolean(),
  signature,
});

/** Agent, second frame and the first sealed one: what is said of the machine is not in the clear. */
export const proveSchema = z.strictObject({
  type: z.literal("prove"),
  hostname: z.string().min(1).max(253),
  platform: z.string().min(1).max(32),
  /** The newest epoch of this orchestrator that the agent has seen. From version 2 on; absent where it has seen none. */
  epoch: epochSchema.optional(),
  /** A secret: what may stand in for an operator's approval. From version 3 on; absent where the agent has none. */
  enrolment_token: z.string().min(1).max(maxTokenLength).optional(),
  signature,
});

/** Orchestrator, last frame: the agent is known, and how it stands. */
export const acceptedSchema = z.strictObject({
  type: z.literal("accepted"),
  status: agentStatusSchema,
  orchestrator_time: z.iso.datetime(),
  /** The orchestrator's own. From version 2 on. */
  epoch: epochSchema.optional(),
});

/** Orchestrator, in place of any of its frames: the connection is refused. */
export const refusedSchema = z.strictObject({
  type: z.literal("refused"),
  code: z.string().regex(/^[A-Z][A-Z0-9_]{1,63}$/),
  message: z.string().max(500),
});

export const welcomeOrRefusedSchema = z.discriminatedUnion("type", [welcomeSchema, refusedSchema]);
export const acceptedOrRefusedSchema = z.discriminatedUnion("type", [acceptedSchema, refusedSchema]);

/**
 * What an orchestrator thinks of an agent that has proved its key.
 *
 * @useDeclaredType
 */
export type AgentStatus = z.infer<typeof agentStatusSchema>;
export type Hello = z.infer<typeof helloSchema>;
export type Welcome = z.infer<typeof welcomeSchema>;
export type Prove = z.infer<typeof proveSchema>;
export type Accepted = z.infer<typeof acceptedSchema>;
export type Refused = z.infer<typeof refusedSchema>;
