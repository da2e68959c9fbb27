/** The `ETag` of what was read, kept beside it, so that answers stay plain objects. */

const tags = new WeakMap<object, string>();

/** Remembers with which tag a value came. */
export function rememberTag(value: unknown, tag: string | null): void {
  if (tag !== null && typeof value === "object" && value !== null) tags.set(value, tag);
}

/**
 * The version of what a client read, for `ifMatch`: the change is made only if nobody made another since, else it is refused with
 * `PRECONDITION_FAILED`.
 *
 * @param value - The very object that a verb resolved with, not a copy.
 * @returns Undefined for what has no version, such as a list.
 * @example Change what was read, and nothing else
 * ```ts
 * const agent = await client.agents.get(nodeId);
 * await client.tags.set(nodeId, { key: "env", value: "prod" }, { ifMatch: etagOf(agent) });
 * ```
 */
export function etagOf(value: object): string | undefined {
  return tags.get(value);
}
