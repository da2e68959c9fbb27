import type { OperationDocument } from "./documents.ts";
import type { Operation } from "./schemas.ts";

/** The operation as callers see it. */
export function toOperation(operation: Readonly<OperationDocument>): Operation {
  const { snapshot: _1, resource_count: _2, timeout_seconds: _3, allow_empty: _4, ...rest } = operation;
  const { queue_until: _5, deadline_at: _6, cancel_requested: _7, results: _8, ...more } = rest;
  const {
    epoch: _13,
    queued_at: _14,
    begun_at: _12,
    extras: _9,
    plan_digest: _10,
    repeats: _11,
    kind,
    ...shown
  } = more;
  return { ...shown, kind: kind === "check" ? "plan" : kind, modules: [...operation.modules] };
}
