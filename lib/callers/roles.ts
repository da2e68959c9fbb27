import { z } from "zod";

/** Roles in rising order: each may do all that those before it may. */
export const roles = ["Viewer", "Operator", "Admin"] as const;

/** What an operator may do; see {@link roles}. */
export type Role = (typeof roles)[number];

/**
 * Takes a role without regard to case; for the compiler, in the two ways that people write it. What is described are the names alone: a
 * client that is generated has no others to offer.
 */
export const roleSchema = z
  .string()
  .meta({ enum: [...roles] })
  .transform((text) => roles.find((role) => role.toLowerCase() === text.toLowerCase()) ?? text)
  .pipe(z.enum(roles)) as unknown as z.ZodType<Role, Role | Lowercase<Role>>;

/** Whether a role is at least another. */
export function isAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
