import type { ManagedBy } from "../internal/common-schemas.ts";
import type { JsonObject } from "../json.ts";
import { mask } from "../notifications/channels/config-rules.ts";
import { hidden } from "../state/result.ts";
import type { FolderKind, PresentThing } from "./fleet-folder.ts";
import { kindsOfThings, withDefaults } from "./kinds.ts";

/** Whether a value in it is secret, so that a mask stands for it: of a channel a field of its config, of an assignment a param. */
export function hasHiddenValues({ kind, values }: Pick<PresentThing, "kind" | "values">): boolean {
  if (kind === "channels") return Object.values(values["config"] ?? {}).includes(mask);
  return kind === "assignments" && Object.values(values["params"] ?? {}).includes(hidden);
}

/** What the lists of a server have in common. */
interface Listed {
  managed_by?: ManagedBy | undefined;
  status?: unknown;
  used_by?: readonly string[];
}

/** How each kind is named in calls, and what says its version. */
const keys: Readonly<Record<FolderKind, { id: string; name: string; version: string }>> = {
  modules: { id: "name", name: "name", version: "revision" },
  assignments: { id: "name", name: "name", version: "version" },
  windows: { id: "id", name: kindsOfThings.windows.title!, version: "version" },
  channels: { id: "id", name: kindsOfThings.channels.title!, version: "version" },
  thresholds: { id: "id", name: kindsOfThings.thresholds.title!, version: "version" },
  operators: { id: "operator_id", name: "username", version: "version" },
};

/**
 * Reads what a server lists as something that a fleet folder may say.
 *
 * @param listed - An item of the list of its kind, as the API returns it. Of a module the content is known by its hash.
 */
export function toPresentThing(kind: FolderKind, listed: object): PresentThing {
  const fields = listed as Listed & Record<string, unknown>;
  const { id, name, version } = keys[kind];
  const values: JsonObject =
    kind === "modules" ? { content: String(fields["content_hash"]) } : withDefaults(kind, fields);
  return {
    kind,
    id: String(fields[id]),
    name: String(fields[name]),
    version: Number(fields[version]),
    managedBy: fields.managed_by ?? null,
    values,
    hasEnded: kind === "windows" && fields.status === "ended",
    usedBy: fields.used_by ?? [],
  };
}
