import type { Permission } from "../callers/permissions.ts";

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
