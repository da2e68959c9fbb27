import { toSubject, type Caller } from "../access/caller.ts";
import type { Context } from "../context.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { countOutcomes } from "../state/result.ts";
import type { OperationDocument } from "./documents.ts";
import type { OperationChange } from "./operation-store.ts";
import type { Snapshots } from "./snapshots.ts";

/** What makes an operation. */
export interface OperationRequest {
  kind: OperationDocument["kind"];
  nodeId: string;
  agentName: string;
  desired: { modules: OperationDocument["modules"]; resources: readonly ResolvedResource[] };
  timeoutSeconds?: number | undefined;
  allowEmpty?: boolean | undefined;
  /** What the call added to what assignments bring. */
  extras?: OperationDocument["extras"];
  /** The plan that is to be carried out, and nothing else. */
  plan?: { id: string; digest: string } | undefined;
  /** Waits this long for an agent that is not connected; absent = it fails. */
  queueSeconds?: number | undefined;
  assignment?: string;
  rolloutId?: string;
  /** What else is written in the step that makes it. */
  change?: (operationId: string) => OperationChange;
}

/** Makes the document of a new operation, with its snapshot on disk. */
export async function toDocument(
  { context, snapshots }: { context: Context; snapshots: Snapshots },
  caller: Caller,
  request: OperationRequest,
): Promise<OperationDocument> {
  const now = context.clock.now();
  const { desired, queueSeconds, assignment, rolloutId } = request;
  return {
    operation_id: context.ids.next(),
    kind: request.kind,
    node_id: request.nodeId,
    agent_name: request.agentName,
    status: "queued",
    ...(rolloutId !== undefined && { rollout_id: rolloutId }),
    ...(assignment !== undefined && { assignment }),
    modules: desired.modules,
    counts: countOutcomes([]),
    requested_by: toSubject(caller).name,
    created_at: context.timestamp(),
    snapshot: await snapshots.save(desired.resources),
    resource_count: desired.resources.length,
    timeout_seconds: request.timeoutSeconds ?? context.options.operationTimeoutSeconds,
    allow_empty: request.allowEmpty ?? false,
    ...(request.extras && { extras: request.extras }),
    ...(request.plan && { plan_id: request.plan.id, plan_digest: request.plan.digest }),
    ...(queueSeconds !== undefined && { queue_until: now + queueSeconds * 1000 }),
  };
}
