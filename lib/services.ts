/** The inside of the features: what they are to each other. None of it is reached from an `Orchestrator`; whoever calls it has authorized. */
import { AccessService } from "./access/access-service.ts";
import { Streams } from "./access/streams.ts";
import { AgentService } from "./agents/agent-service.ts";
import { AssignmentService } from "./assignments/assignment-service.ts";
import { AuditService } from "./audit/audit-service.ts";
import type { Context } from "./context.ts";
import { DriftService } from "./drift/drift-service.ts";
import { EnrolmentTokenService } from "./enrolment-tokens/enrolment-token-service.ts";
import { EventFeedService } from "./event-feed/event-feed-service.ts";
import { IdempotencyService } from "./idempotency/idempotency-service.ts";
import { MaintenanceService } from "./maintenance/maintenance-service.ts";
import { MetricService } from "./metrics/metric-service.ts";
import { ModuleService } from "./modules/module-service.ts";
import { NotificationService } from "./notifications/notification-service.ts";
import { OperationService } from "./operations/operation-service.ts";
import { RolloutService } from "./rollouts/rollout-service.ts";
import { SecretService } from "./secrets/secret-service.ts";
import { TerminalService } from "./terminals/terminal-service.ts";
import { ThresholdService } from "./thresholds/threshold-service.ts";

/** The services of one orchestrator. */
export interface Services {
  access: AccessService;
  agents: AgentService;
  assignments: AssignmentService;
  audit: AuditService;
  drift: DriftService;
  enrolmentTokens: EnrolmentTokenService;
  events: EventFeedService;
  idempotency: IdempotencyService;
  maintenance: MaintenanceService;
  metrics: MetricService;
  modules: ModuleService;
  notifications: NotificationService;
  operations: OperationService;
  rollouts: RolloutService;
  secrets: SecretService;
  streams: Streams;
  terminals: TerminalService;
  thresholds: ThresholdService;
}

/** Makes them, each of those before it. */
export function createServices(context: Context): Services {
  const access = new AccessService(context);
  const streams = new Streams(context, access);
  const agents = new AgentService(context);
  const enrolmentTokens = new EnrolmentTokenService(context, { agents });
  const modules = new ModuleService(context);
  const assignments = new AssignmentService(context, { agents, modules });
  const secrets = new SecretService(context, { agents });
  const maintenance = new MaintenanceService(context, { agents });
  const below = { agents, assignments, maintenance };
  const operations = new OperationService(context, { ...below, modules, secrets, streams });
  const rollouts = new RolloutService(context, { ...below, operations });
  const drift = new DriftService(context, { ...below, operations });
  const audit = new AuditService(context);
  const events = new EventFeedService(context);
  const terminals = new TerminalService(context, { access, agents, streams });
  const metrics = new MetricService(context, { agents });
  const thresholds = new ThresholdService(context, { agents });
  const idempotency = new IdempotencyService(context);
  const notifications = new NotificationService(context, { agents, maintenance, secrets });
  return {
    access,
    agents,
    assignments,
    audit,
    drift,
    enrolmentTokens,
    events,
    idempotency,
    maintenance,
    metrics,
    modules,
    notifications,
    operations,
    rollouts,
    secrets,
    streams,
    terminals,
    thresholds,
  };
}
