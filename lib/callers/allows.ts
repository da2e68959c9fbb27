import type { Caller } from "./caller.ts";
import { permissionTable, type Permission } from "./permissions.ts";
import { isAtLeast } from "./roles.ts";

/** Whether the permission table lets a caller use a verb. Asks nobody and records nothing. */
export function allows(caller: Caller, permission: Permission): boolean {
  // A program without types may have left it out.
  if ((caller as Partial<Caller> | null | undefined)?.kind === undefined) return false;
  const needed = permissionTable[permission];
  if (caller.kind === "system" || needed === "anyone") return true;
  return caller.kind === "operator" && isAtLeast(caller.role, needed);
}
