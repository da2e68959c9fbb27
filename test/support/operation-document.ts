import type { OperationDocument } from "../../lib/operations/documents.ts";
import { countOutcomes } from "../../lib/state/result.ts";

/** An apply of nothing that waits for its agent, but for what a test says of it. */
export function operationDocument(more: Partial<OperationDocument> = {}): OperationDocument {
  return {
    operation_id: "o",
    kind: "apply",
    node_id: "n",
    agent_name: "web-1",
    status: "queued",
    modules: [],
    counts: countOutcomes([]),
    requested_by: "ada",
    created_at: "2030-01-01T00:00:00.000Z",
    snapshot: "s",
    resource_count: 1,
    timeout_seconds: 60,
    allow_empty: false,
    ...more,
  };
}
