/** The whole product as one router: what tRPC serves, and what REST and its OpenAPI description are derived from. */
import { schemas } from "fleetwright";
import { authProcedures, operatorProcedures } from "./procedures/access.ts";
import { agentProcedures, tagProcedures } from "./procedures/agents.ts";
import { assignmentProcedures } from "./procedures/assignments.ts";
import { auditProcedures } from "./procedures/audit.ts";
import { backupProcedures } from "./procedures/backups.ts";
import { procedure, requirePermissions, route, t } from "./procedures/builder.ts";
import { channelProcedures } from "./procedures/channels.ts";
import { discoveryProcedures } from "./procedures/discovery.ts";
import { enrolmentTokenProcedures } from "./procedures/enrolment-tokens.ts";
import { eventProcedures } from "./procedures/events.ts";
import { maintenanceWindowProcedures } from "./procedures/maintenance-windows.ts";
import { metricProcedures } from "./procedures/metrics.ts";
import { moduleProcedures } from "./procedures/modules.ts";
import { notificationProcedures } from "./procedures/notifications.ts";
import { restoreProcedures } from "./procedures/restores.ts";
import { rolloutProcedures } from "./procedures/rollouts.ts";
import { runProcedures } from "./procedures/runs.ts";
import { secretProcedures } from "./procedures/secrets.ts";
import { driftProcedures, operationProcedures, stateProcedures } from "./procedures/state.ts";
import { terminalProcedures } from "./procedures/terminals.ts";
import { thresholdProcedures } from "./procedures/thresholds.ts";

const everything = t.router({
  status: t.router({
    get: procedure
      .meta(
        route("status.get", "GET /status", {
          tag: "Status",
          summary: "Get protocol version and health",
          description:
            "Whether the service works and which versions of the agent protocol it speaks. Needs no session; who is signed in also sees each check.",
          problems: ["UNAUTHENTICATED", "STORAGE_CLOSED"],
        }),
      )
      .output(schemas.statusSchema)
      .query(async ({ ctx }) => ctx.orchestrator.status.get(await ctx.caller())),
  }),
  summary: t.router({
    get: procedure
      .meta(
        route("summary.get", "GET /summary", {
          tag: "Status",
          summary: "Get the fleet in one look",
          description:
            "How many agents there are and how they fare, what is under way, and what needs somebody, worst first.",
        }),
      )
      .output(schemas.summarySchema)
      .query(async ({ ctx }) => ctx.orchestrator.summary.get(await ctx.caller())),
  }),
  auth: authProcedures,
  operators: operatorProcedures,
  agents: agentProcedures,
  enrolmentTokens: enrolmentTokenProcedures,
  tags: tagProcedures,
  modules: moduleProcedures,
  assignments: assignmentProcedures,
  rollouts: rolloutProcedures,
  runs: runProcedures,
  state: stateProcedures,
  operations: operationProcedures,
  drift: driftProcedures,
  discovery: discoveryProcedures,
  metrics: metricProcedures,
  thresholds: thresholdProcedures,
  events: eventProcedures,
  secrets: secretProcedures,
  terminals: terminalProcedures,
  maintenanceWindows: maintenanceWindowProcedures,
  notifications: notificationProcedures,
  channels: channelProcedures,
  backups: backupProcedures,
  restores: restoreProcedures,
  audit: auditProcedures,
});

/** Every procedure there is. */
export const appRouter: typeof everything = requirePermissions(everything);

/** The type of the router, for typed clients. */
export type AppRouter = typeof appRouter;
