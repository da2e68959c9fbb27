import type { Permission } from "../callers/permissions.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";

/** A call that carries a key. */
export interface KeyedCall {
  /** Chosen by the caller: 1-255 visible ASCII characters. */
  key: string;
  /** The verb that is called. One key may be used once with each. */
  permission: Permission;
  /** What it is called with; JSON. */
  input: unknown;
  /** The version that the caller demands, as it was sent; absent or null = none. With another it is another call. */
  ifMatch?: string | null;
}

/** Whether what a verb is called with is encrypted where it is kept. */
export function holdsSecrets(permission: Permission): boolean {
  return permission.startsWith("secrets.") || permission.startsWith("channels.");
}

/** The one text of an input, whatever the order of its fields; what has no canonical form is refused later, as any input. */
export function toCanonicalText(input: unknown): string {
  try {
    return canonicalJson((input ?? null) as Json);
  } catch {
    return JSON.stringify(input);
  }
}
