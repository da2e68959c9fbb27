import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { toHex } from "../crypto/encoding.ts";
import { version } from "../version.ts";
import { supportedVersions } from "../wire/limits.ts";
import {
  checkAgents,
  checkClock,
  checkEnrolment,
  checkEpoch,
  checkLog,
  checkSeries,
  checkStorage,
  type RefusingAgent,
} from "./checks.ts";
import type { Status } from "./schemas.ts";

/** What the status asks other features. */
export interface StatusParts {
  agents: AgentService;
  refusingAgents: () => readonly RefusingAgent[];
}

/** Whether the orchestrator works, and what it speaks. */
export class StatusReport {
  readonly #context: Context;
  readonly #parts: StatusParts;

  constructor(context: Context, parts: StatusParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Reads the present status. The single checks are told only to those who signed in. */
  async get(caller: Caller): Promise<Status> {
    await this.#context.authorize(caller, "status.get");
    const context = this.#context;
    const { agentUrl } = context.options;
    const checks = [
      await checkStorage(context),
      checkLog(context),
      checkSeries(context),
      checkClock(context),
      checkAgents(this.#parts.agents.presence, this.#parts.refusingAgents()),
      checkEnrolment(this.#parts.agents.crowded),
      ...checkEpoch(context),
    ];
    return {
      status: checks.every((check) => check.status === "ok") ? "ok" : "degraded",
      protocol_version: Math.max(...supportedVersions),
      protocol_min_version: Math.min(...supportedVersions),
      version,
      public_key: toHex(this.#context.identity.publicKey),
      ...(agentUrl !== null && { agent_url: agentUrl }),
      ...(caller.kind !== "anonymous" && { checks }),
    };
  }
}
