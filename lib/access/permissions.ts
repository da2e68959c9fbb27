import type { Role } from "./roles.ts";

/**
 * Who may call what: the least role for each verb, or "anyone" where no session is needed.
 *
 * Feature methods enforce it, so that no adapter can forget; adapters use the same names for their procedures and refuse
 * to build one that is not here. `applyNow` is what `apply` is called there: tRPC has that word for itself.
 */
export const permissionTable = {
  "status.get": "anyone",
  "auth.challenge": "anyone",
  "auth.verify": "anyone",
  "auth.session": "Viewer",
  "auth.signOut": "Viewer",
  "operators.list": "Viewer",
  "operators.get": "Viewer",
  "operators.add": "Admin",
  "operators.remove": "Admin",
  "operators.setRole": "Admin",
  "agents.list": "Viewer",
  "agents.get": "Viewer",
  "agents.attributes": "Viewer",
  "agents.setStatus": "Operator",
  "agents.remove": "Operator",
  "tags.list": "Viewer",
  "tags.replace": "Operator",
  "tags.set": "Operator",
  "tags.remove": "Operator",
  "modules.list": "Viewer",
  "modules.get": "Viewer",
  "modules.upload": "Operator",
  "modules.remove": "Operator",
  "assignments.list": "Viewer",
  "assignments.get": "Viewer",
  "assignments.create": "Operator",
  "assignments.update": "Operator",
  "assignments.remove": "Operator",
  "assignments.applyNow": "Operator",
  "assignments.plan": "Operator",
  "rollouts.list": "Viewer",
  "rollouts.get": "Viewer",
  "rollouts.agents": "Viewer",
  "rollouts.pause": "Operator",
  "rollouts.resume": "Operator",
  "rollouts.cancel": "Operator",
  "state.applyNow": "Operator",
  "state.plan": "Operator",
  "state.believed": "Viewer",
  "operations.list": "Viewer",
  "operations.listForAgent": "Viewer",
  "operations.get": "Viewer",
  "operations.output": "Operator",
  "operations.cancel": "Operator",
  "operations.watch": "Viewer",
  "drift.check": "Operator",
  "drift.list": "Viewer",
  "drift.latest": "Viewer",
  "drift.get": "Viewer",
  "events.stream": "Viewer",
  "backups.create": "Admin",
  "audit.list": "Viewer",
  "audit.verify": "Viewer",
  "audit.prune": "Admin",
  "audit.getRetention": "Viewer",
  "audit.setRetention": "Admin",
} as const satisfies Record<string, Role | "anyone">;

/** The name of one verb of one feature. */
export type Permission = keyof typeof permissionTable;
