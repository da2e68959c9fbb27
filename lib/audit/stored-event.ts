import type { AuditEvent } from "./schemas.ts";

/** An event as the log has it: of whatever version wrote it, so that nothing is promised of its facts. */
export type StoredEvent = Omit<AuditEvent, "sequence" | "recorded_at" | "hash">;
