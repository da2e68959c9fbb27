/** The password field of an account: a hash, with "!" before it while it is locked; "!" or "*" alone where there is none. */
import type { UserSpec } from "./properties.ts";

/** The field without what locks it. */
export function bareHash(field: string): string {
  return field.replace(/^!+/, "");
}

/** Whether no password can be used, because it is locked or because there never was one. */
export function isLocked(field: string): boolean {
  return field.startsWith("!");
}

/** What the field is to be, given what it is ("" for a user who is not there yet). */
export function wantedPassword({ password_hash, locked, shadow }: UserSpec, field: string): string {
  if (shadow !== undefined) return shadow;
  const hash = password_hash ?? bareHash(field);
  // A field without a hash is no lock that a new password should inherit, and there is nothing to unlock.
  if (hash === "") return locked === true && !isLocked(field) ? "!" : field;
  return (locked ?? (isLocked(field) && bareHash(field) !== "")) ? `!${hash}` : hash;
}
