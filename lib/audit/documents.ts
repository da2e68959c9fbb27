import { auditLog } from "../context.ts";
import type { CollectionDefinition, LogDefinition } from "../storage/storage.ts";

/** What the audit feature keeps. `settings` holds the single documents of the whole orchestrator. */
export const auditCollections = {
  settings: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

export const auditLogs = {
  [auditLog]: { chained: true },
} as const satisfies Record<string, LogDefinition>;
