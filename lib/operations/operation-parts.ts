import type { Streams } from "../access/streams.ts";
import type { Presence } from "../agents/presence.ts";
import type { Context } from "../context.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import type { OperationDocument } from "./documents.ts";
import type { Lanes } from "./lanes.ts";
import type { OperationStore } from "./operation-store.ts";
import type { OutcomeRecorder } from "./outcomes.ts";
import type { ProgressFeeds } from "./progress-feeds.ts";
import type { Operation } from "./schemas.ts";
import type { Snapshots } from "./snapshots.ts";

/** What the verbs of the feature share. */
export interface OperationParts {
  context: Context;
  store: OperationStore;
  snapshots: Snapshots;
  secrets: SecretService;
  outcomes: OutcomeRecorder;
  /** What running operations tell. */
  feeds: ProgressFeeds;
  /** The name of the process that holds an agent: it is told first what the agent does. */
  holderOf: (nodeId: string) => string;
  /** The operation as callers see it now. */
  view: (operation: Readonly<OperationDocument>) => Operation;
  /** Who may read on. */
  streams: Streams;
}

/** What brings operations to agents works with. */
export interface DispatchParts extends Pick<
  OperationParts,
  "store" | "snapshots" | "secrets" | "outcomes" | "feeds"
> {
  lanes: Lanes;
  maintenance: MaintenanceService;
  presence: Presence;
  /** Whether an agent may be given work. */
  isApproved: (nodeId: string) => boolean;
  /** Whether an operation that waited may begin. */
  mayBegin: (operation: Readonly<OperationDocument>) => Promise<boolean>;
}
