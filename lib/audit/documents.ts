import { auditLog } from "../context.ts";
import type { CollectionDefinition, LogDefinition } from "../storage/storage.ts";
import { blockCollection } from "./block-index.ts";

/** What the audit feature keeps. `settings` holds the single documents of the whole orchestrator. */
export const auditCollections = {
  settings: { indexes: {} },
  [blockCollection]: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

export const auditLogs = {
  [auditLog]: { chained: true },
} as const satisfies Record<string, LogDefinition>;
