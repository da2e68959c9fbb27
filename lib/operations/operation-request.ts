import { toSubject, type Caller } from "../callers/caller.ts";
import type { EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { countOutcomes } from "../state/result.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import { isListed } from "./operation-kinds.ts";
import type { OperationParts } from "./operation-parts.ts";
import { factsOf, operationSubject, type OperationChange } from "./operation-store.ts";

/** What makes an operation. */
export interface OperationRequest {
  kind: OperationDocument["kind"];
  nodeId: string;
  agentName: string;
  desired: {
    modules: OperationDocument["modules"];
    resources: readonly ResolvedResource[];
    skipReasons?: OperationDocument["skip_reasons"];
  };
  /** Names of the modules that it is about, those that it takes away among them. Default: all that the machine has. */
  scope?: string[] | undefined;
  /** The assignments that bring its modules. Default: those that brought them before. */
  sources?: OperationDocument["sources"];
  /** What the call named. */
  named?: OperationDocument["named"];
  /** What it takes for given. Default nothing. */
  grounds?: OperationDocument["grounds"];
  /** What is forgotten. */
  names?: string[];
  /** Of a run: the beginning of what it runs. */
  command?: string;
  timeoutSeconds?: number | undefined;
  allowEmpty?: boolean | undefined;
  /** How many things it may remove. Default any number. */
  maxRemovals?: number | undefined;
  /** Whether what is not desired any more is left as it is. Default false. */
  holdRemovals?: boolean | undefined;
  /** What the call added to what assignments bring. */
  extras?: OperationDocument["extras"];
  /** The plan that is to be carried out, and nothing else. */
  plan?: { id: string; digest: string } | undefined;
  /** The apply whose baseline is put back, as long as nothing else was asked of the machine. */
  repeats?: string | undefined;
  /** The snapshot of that baseline now. */
  repeatsSnapshot?: string;
  /** Whether maintenance windows don't hold it. Default false. */
  overrideWindow?: boolean | undefined;
  /** Waits this long for an agent that is not connected; absent = it fails. */
  queueSeconds?: number | undefined;
  assignment?: string;
  rolloutId?: string;
  /** What the call that asks for it is answered with, should nothing more become known of it; absent = nobody is answered. */
  answer?: (operation: Readonly<OperationDocument>) => unknown;
  /** What else is written in the step that makes it, or them, by their ids. */
  change?: (operationIds: readonly string[]) => OperationChange;
}

/** Makes the document of a new operation, with its snapshot on disk. */
export async function toDocument(
  { context, snapshots, secrets, store }: Pick<OperationParts, "context" | "snapshots" | "secrets" | "store">,
  caller: Caller,
  request: OperationRequest,
): Promise<OperationDocument> {
  const { desired, queueSeconds, assignment, rolloutId, repeats } = request;
  return {
    operation_id: context.ids.next(),
    kind: request.kind,
    node_id: request.nodeId,
    agent_name: request.agentName,
    status: "queued",
    ...(rolloutId !== undefined && { rollout_id: rolloutId }),
    ...(assignment !== undefined && { assignment }),
    modules: desired.modules,
    ...(request.scope && { scope: request.scope }),
    ...(request.sources && isFilled(request.sources) && { sources: request.sources }),
    ...(request.named && isFilled(request.named) && { named: request.named }),
    ...(request.grounds && { grounds: request.grounds }),
    ...(request.names && { names: request.names }),
    ...(request.command !== undefined && { command: request.command }),
    counts: countOutcomes([]),
    requested_by: toSubject(caller).name,
    ...context.epochs.mark,
    queued_at: store.nextPlace(),
    created_at: context.timestamp(),
    snapshot: await snapshots.save(desired.resources),
    ...(secrets.areIn(desired.resources) && { has_secrets: true as const }),
    resource_count: desired.resources.length,
    ...(desired.skipReasons && isFilled(desired.skipReasons) && { skip_reasons: desired.skipReasons }),
    timeout_seconds: request.timeoutSeconds ?? context.options.operationTimeoutSeconds,
    allow_empty: request.allowEmpty ?? false,
    ...(request.maxRemovals !== undefined && { max_removals: request.maxRemovals }),
    ...(request.holdRemovals === true && { hold_removals: true }),
    ...(request.extras && { extras: request.extras }),
    ...(request.plan && { plan_id: request.plan.id, plan_digest: request.plan.digest }),
    ...(repeats !== undefined && { repeats }),
    ...(request.repeatsSnapshot !== undefined && { repeats_snapshot: request.repeatsSnapshot }),
    ...(request.overrideWindow === true && { override_window: true }),
    ...(queueSeconds !== undefined && { queue_until: context.fleetTime.now() + queueSeconds * 1000 }),
  };
}

function isFilled(object: object): boolean {
  return Object.keys(object).length > 0;
}

/** An apply that would take away all there is must be asked for in so many words. */
export function requireSomething(
  { allow_empty }: { allow_empty?: boolean | undefined },
  desired: OperationRequest["desired"],
  state: Readonly<AgentStateDocument> | null,
): void {
  if (desired.resources.length > 0 || allow_empty === true) return;
  if ((state?.last_apply?.resource_count ?? 0) > 0) throw new OrchestratorError("EMPTY_DESIRED_STATE");
}

/** What tells of a new operation; of a check, its own feature tells. */
export function requestedEvent(operation: Readonly<OperationDocument>): EventInput[] {
  if (!isListed(operation)) return [];
  const subject = operationSubject(operation)!;
  return [
    {
      type: "operation.requested",
      target: subject,
      summary: `${subject.name} was requested`,
      metadata: {
        ...factsOf(operation),
        modules: operation.modules,
        ...(operation.scope && { scope: operation.scope }),
        ...(operation.names && { forgets: operation.names }),
        ...(operation.command !== undefined && { command: operation.command }),
      },
    },
  ];
}
