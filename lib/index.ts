/** Fleetwright: an embeddable orchestrator for fleets of machines. */
export { Orchestrator } from "./orchestrator.ts";
export { orchestratorOptions } from "./options.ts";
export type { AdminKey, OrchestratorOptions, ResolvedOptions } from "./options.ts";
export { systemClock, toTimestamp } from "./clock.ts";
export type { Clock, Timer } from "./clock.ts";
export { errorGuide } from "./error-guide/error-guide.ts";
export type { ErrorExplanation } from "./error-guide/explanation.ts";
export { errorTable, isOrchestratorError, OrchestratorError } from "./errors.ts";
export type { ErrorCode, ErrorOptions, Issue } from "./errors.ts";
export { toIssues } from "./internal/schema-issues.ts";
export type { SchemaFault } from "./internal/schema-issues.ts";
export { eventTable } from "./events.ts";
export type {
  EventCategory,
  EventFields,
  EventListener,
  EventSubject,
  EventType,
  OrchestratorEvent,
  Severity,
} from "./events.ts";
export type {
  AlarmFacts,
  AssignmentFacts,
  AttributeChange,
  AttributeFacts,
  DecisionFacts,
  ReplacementFacts,
  DriftEndFacts,
  DriftFacts,
  EnforcementFacts,
  FlappingFacts,
  NoMetadata,
  OfflineFacts,
  OperationFacts,
  RefusalFacts,
  RolloutFacts,
  ChannelFacts,
  DeliveryFacts,
  SecretFacts,
  TerminalEndFacts,
  TerminalFacts,
  ThresholdFacts,
  TokenUseFacts,
  WindowFacts,
  WindowTimeFacts,
} from "./event-facts.ts";
export type { EventMetadata } from "./event-metadata.ts";
export type { EventKind, EventPattern, MatchedType } from "./event-pattern.ts";
export type { ChangeOptions } from "./document-version.ts";
export { isLasting, makeLasting } from "./lasting.ts";
export { silentLogger } from "./logger.ts";
export type { LogFields, Logger } from "./logger.ts";
export { version } from "./version.ts";

// Callers and permissions
export { systemCaller } from "./callers/caller.ts";
export type { AnonymousCaller, Caller, CallOrigin, OperatorCaller, SystemCaller } from "./callers/caller.ts";
export { permissionTable } from "./callers/permissions.ts";
export type { Permission } from "./callers/permissions.ts";
export { roles } from "./callers/roles.ts";
export type { Role } from "./callers/roles.ts";

// The format of modules, without an orchestrator
export { checkModule } from "./module-format/check-module.ts";
export type { ModuleCheck } from "./module-format/check-module.ts";
export { moduleJsonSchema } from "./module-format/module-json-schema.ts";

// Fleet folders: a fleet as files, compared with what a server has
export { readFleetFolder } from "./fleet-folder/folder-reader.ts";
export { planFleetFolder } from "./fleet-folder/folder-plan.ts";
export { hasHiddenValues, toPresentThing } from "./fleet-folder/present-thing.ts";
export { folderInputs } from "./fleet-folder/folder-inputs.ts";
export type { ReadFolderInput } from "./fleet-folder/folder-inputs.ts";
export { mayHoldPlainSecret } from "./fleet-folder/module-content.ts";
export type { FolderPlan, FolderPlanOptions, FolderStep } from "./fleet-folder/plan-types.ts";
export type { FieldChange } from "./fleet-folder/field-changes.ts";
export type { ManagedBy } from "./internal/common-schemas.ts";
export { folderKinds } from "./fleet-folder/fleet-folder.ts";
export type {
  DeclaredThing,
  FleetFolder,
  FolderFault,
  FolderFile,
  FolderKind,
  PresentThing,
} from "./fleet-folder/fleet-folder.ts";

// Features, each a property of the orchestrator
export type { Access } from "./access/access.ts";
export type { Operators } from "./access/operators.ts";
export type { Agents } from "./agents/agents.ts";
export type { Tags } from "./agents/documents.ts";
export type { TagVerbs } from "./agents/tag-verbs.ts";
export type { Assignments } from "./assignments/assignments.ts";
export type { Audit } from "./audit/audit.ts";
export { AuditExport, checkAuditExport } from "./audit/audit-export.ts";
export type { AuditExportCheck } from "./audit/audit-export.ts";
export { readAuditHead } from "./audit/head.ts";
export type { Backups } from "./backups/backups.ts";
export type { Channels } from "./notifications/channels/channels.ts";
export type { Notifications } from "./notifications/inbox/notifications.ts";
export type { Secrets } from "./secrets/secrets.ts";
export type { SecretsKey, SecretsKeySource } from "./secrets/secrets-key.ts";
export type { Terminals } from "./terminals/terminals.ts";
export type { ServedAt } from "./served-at.ts";
export type { Discovery } from "./discovery/discovery.ts";
export type { Drift } from "./drift/drift.ts";
export type { EnrolmentTokens } from "./enrolment-tokens/enrolment-tokens.ts";
export type { EventFeed } from "./event-feed/event-feed.ts";
export type { EndedOperation, FigureCounts, Figures } from "./figures.ts";
export type { Idempotency } from "./idempotency/idempotency.ts";
export type { KeyedCall } from "./idempotency/keyed-call.ts";
export type { MaintenanceWindows } from "./maintenance/maintenance.ts";
export type { Metrics } from "./metrics/metrics.ts";
export type { Modules } from "./modules/modules.ts";
export type { Operations } from "./operations/operations.ts";
export type { Restores } from "./restores/restores.ts";
export type { Rollouts } from "./rollouts/rollouts.ts";
export type { Runs } from "./runs/runs.ts";
export type { StatusReport } from "./status/status.ts";
export type { FleetSummary } from "./summary/summary.ts";
export type { Thresholds } from "./thresholds/thresholds.ts";

// What the verbs take and return: the schemas that adapters serve
export * as schemas from "./schemas.ts";
export type { Challenge, Operator, Session } from "./access/schemas.ts";
export type { AgentOutcome, AgentOutcomes } from "./agents/many-schemas.ts";
export type {
  Agent,
  AgentAttributes,
  AgentTags,
  RejectedAgents,
  RejectPendingInput,
  TagList,
} from "./agents/schemas.ts";
export type { CreatedEnrolmentToken, EnrolmentToken } from "./enrolment-tokens/schemas.ts";
export type { Assignment, AssignmentDetail } from "./assignments/schemas.ts";
export type {
  AuditEvent,
  AuditHead,
  AuditRetention,
  AuditVerification,
  PruneResult,
} from "./audit/schemas.ts";
export type { MaintenanceWindow, WindowMode, WindowSchedule } from "./maintenance/schemas.ts";
export type { Alarm, Threshold, ThresholdCondition } from "./thresholds/schemas.ts";
export type { LatestMetrics, MetricHistory, MetricPoint, MetricUnit } from "./metrics/schemas.ts";
export type { AgentDrift, DriftDetail, DriftRecord, DriftStatus } from "./drift/schemas.ts";
export type { Attention, AttentionKind, Summary } from "./summary/schemas.ts";
export type { EventStreamItem } from "./event-feed/schemas.ts";
export type { Tracked } from "./internal/stream-window.ts";
export type { Page } from "./internal/common-schemas.ts";
export type { Module, ModuleDetail } from "./modules/schemas.ts";
export type {
  Channel,
  ChannelTest,
  Delivery,
  Notification,
  NotificationPage,
  NotificationPreferences,
} from "./notifications/schemas.ts";
export type { RotatedKey, Secret } from "./secrets/schemas.ts";
export type { OpenedTerminal, Terminal, TerminalTicket } from "./terminals/schemas.ts";
export type {
  BelievedState,
  Operation,
  OperationDetail,
  OperationKind,
  OperationOutputList,
  OperationStatus,
  OperationWatchItem,
} from "./operations/schemas.ts";
export type { Discovered } from "./discovery/schemas.ts";
export type { RestoreState } from "./restores/schemas.ts";
export type {
  MemberOutcome,
  Recap,
  Rollout,
  RolloutDetail,
  RolloutGroup,
  RolloutMember,
  RolloutStatus,
} from "./rollouts/schemas.ts";
export type { RunDetail, RunGroup } from "./runs/schemas.ts";
export type { RolloutStrategy } from "./assignments/schemas.ts";
export type { Cron, Schedule } from "./schedules/cron.ts";
export { cronerCron } from "./schedules/croner-cron.ts";
export type { Status } from "./status/schemas.ts";
export type { Change, Counts, ResourceResult } from "./state/result.ts";

// Ports, and the implementations that ship
export { FileStorage } from "./storage/file-storage.ts";
export type { FileStorageOptions } from "./storage/file/file-storage-options.ts";
export { restoreBackup, verifyBackup } from "./storage/file/restore.ts";
export type { BackupSummary, RestoreOptions } from "./storage/file/restore.ts";
export type { BackupOrigin } from "./storage/file/archive-signature.ts";
export { MemoryData, MemoryStorage } from "./storage/memory-storage.ts";
export type { MemoryStorageOptions } from "./storage/memory-storage.ts";
export type { Storage, StorageBackup } from "./storage/storage.ts";
export type { Cluster } from "./cluster/cluster.ts";
export { LocalCluster } from "./cluster/local-cluster.ts";
export { MemoryTransport } from "./transport/memory-transport.ts";
export { SocketTransport } from "./transport/socket-transport.ts";
export type { SocketTransportOptions } from "./transport/socket-transport.ts";
export type { Transport } from "./transport/transport.ts";
export { tlsExporterLabel } from "./transport/socket.ts";
export type { FrameSocket, SocketHandlers } from "./transport/socket.ts";
export { maxFrameBytes } from "./wire/limits.ts";
export { channelTypes } from "./notifications/senders/channel-types.ts";
export { CheckedOutbound } from "./notifications/outbound/checked-outbound.ts";
export type { CheckedOutboundOptions } from "./notifications/outbound/checked-outbound.ts";
export { nodeCrypto } from "./crypto/node-crypto.ts";
export type { Crypto, KeyPair, Signer } from "./crypto/crypto.ts";
export { fromHex, toHex } from "./crypto/encoding.ts";
