import type { EventInput } from "../context.ts";
import type { Write } from "../storage/storage.ts";
import type { AgentIntroduction } from "../transport/transport.ts";
import type { Tags } from "./documents.ts";

/** What an agent brings in place of an operator's approval, and that is used up with it. */
export interface Voucher {
  /** Id of the enrolment token. */
  token: string;
  /** Who approves by it, for people. */
  by: string;
  /** All tags of the agent from then on. */
  tags: Tags;
  /** That it was used, in the step that approves the agent. */
  writes: Write[];
  /** Tells that it was used. */
  event: EventInput;
}

/**
 * Looks at what an agent brings that is not approved, and approves it by that. Resolves with whether it did; what vouches for nobody is
 * no reason to refuse the agent, which then waits as any other.
 */
export type AdmitByVoucher = (introduction: AgentIntroduction) => Promise<boolean>;
