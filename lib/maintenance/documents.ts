import type { ManagedBy } from "../internal/common-schemas.ts";
import type { CollectionDefinition } from "../storage/storage.ts";
import type { WindowMode, WindowSchedule } from "./schemas.ts";

/** A maintenance window as stored, under its id (a UUIDv7, so that keys are in order of time). */
export interface WindowDocument {
  id: string;
  reason: string;
  /** Absent = the whole fleet. */
  selector?: string;
  starts_at: string;
  /** Absent = it recurs without end. */
  ends_at?: string;
  /** Absent = it is one stretch from `starts_at` to `ends_at`. */
  schedule?: WindowSchedule;
  mode: WindowMode;
  /** When an occurrence was ended early: those that had begun by then are over. */
  occurrence_ended_at?: string;
  /** From when on nothing of it comes any more, milliseconds since 1970: what is over need not be read at a start. */
  until: number;
  /** Absent = no folder does. */
  managed_by?: ManagedBy;
  created_by: string;
  created_at: string;
}

/** That the beginning of an occurrence was told, under the id of its window; until its end is. */
export interface ToldDocument {
  id: string;
  starts_at: string;
  ends_at: string;
}

/** What the maintenance feature keeps. Occurrences are worked out, never kept. */
export const maintenanceCollections = {
  maintenance_windows: { indexes: { by_until: ["until"] } },
  maintenance_told: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;
