/** An agent that was not known: its first record, and the event that tells of it. */
import type { EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Write } from "../storage/storage.ts";
import type { AgentIntroduction } from "../transport/transport.ts";
import type { AgentDocument } from "./documents.ts";
import { agentSubject } from "./registry.ts";

/** What an agent says of itself with each connection. */
export type AgentFacts = Pick<
  AgentDocument,
  "hostname" | "platform" | "agent_version" | "box_public_key" | "remote_address"
>;

/** @throws {OrchestratorError} `PROTOCOL_ERROR` for an agent that does not name its host. */
export function toFacts(introduction: AgentIntroduction): AgentFacts {
  const { hostname, platform, agent_version, box_public_key, remote_address } = introduction;
  if (hostname === "")
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "An agent must name its host." });
  return { hostname, platform, agent_version, box_public_key, remote_address };
}

/** The first record of an agent, which waits. */
export function toNewcomer(introduction: AgentIntroduction, now: string): AgentDocument {
  const { node_id, public_key } = introduction;
  const seen = { first_seen_at: now, last_seen_at: now };
  return { ...toFacts(introduction), node_id, public_key, status: "pending", ...seen, tags: {} };
}

/** The writes that go with it: nothing is inherited, not even what was written while one of this key was removed. */
export function nothingTold(nodeId: string): Write[] {
  return ["agent_attributes", "agent_findings"].map((collection) => ({
    kind: "delete",
    collection,
    key: nodeId,
  }));
}

/** Tells of a new agent; `token` is the id of the enrolment token that approves it in the same step. */
export function enrolledEvent(
  agent: Readonly<AgentDocument>,
  { removedBefore, token }: { removedBefore: boolean; token?: string },
): EventInput {
  const summary =
    token === undefined
      ? `Agent ${agent.hostname} asks to be approved`
      : `Agent ${agent.hostname} came with an enrolment token`;
  const metadata = {
    public_key: agent.public_key,
    removed_before: removedBefore,
    ...(token !== undefined && { enrolment_token: token }),
  };
  return { type: "agent.enrolled", target: agentSubject(agent), summary, metadata };
}
