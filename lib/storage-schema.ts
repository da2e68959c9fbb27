import { accessCollections } from "./access/documents.ts";
import { agentCollections } from "./agents/documents.ts";
import { assignmentCollections } from "./assignments/documents.ts";
import { auditCollections, auditLogs } from "./audit/documents.ts";
import { contentCollections } from "./contents/contents.ts";
import { driftCollections } from "./drift/documents.ts";
import { enrolmentTokenCollections } from "./enrolment-tokens/documents.ts";
import { epochCollections } from "./epochs.ts";
import { eventLogs } from "./feed/event-record.ts";
import { fleetTimeCollections } from "./fleet-time.ts";
import { idempotencyCollections } from "./idempotency/documents.ts";
import { maintenanceCollections } from "./maintenance/documents.ts";
import { managedByCollections } from "./managed-by.ts";
import { moduleCollections } from "./modules/documents.ts";
import { notificationCollections } from "./notifications/documents.ts";
import { operationCollections, operationLogs } from "./operations/documents.ts";
import { rolloutCollections } from "./rollouts/documents.ts";
import { secretCollections } from "./secrets/documents.ts";
import type { StorageSchema } from "./storage/storage.ts";
import { terminalCollections } from "./terminals/documents.ts";
import { thresholdCollections } from "./thresholds/documents.ts";
import { retentionClockCollections } from "./upkeep/retention-clock.ts";

/** Everything that an orchestrator keeps: the collections and logs of all features. */
export const storageSchema: StorageSchema = {
  version: 1,
  collections: {
    ...accessCollections,
    ...agentCollections,
    ...assignmentCollections,
    ...auditCollections,
    ...contentCollections,
    ...driftCollections,
    ...enrolmentTokenCollections,
    ...epochCollections,
    ...fleetTimeCollections,
    ...idempotencyCollections,
    ...maintenanceCollections,
    ...managedByCollections,
    ...moduleCollections,
    ...notificationCollections,
    ...operationCollections,
    ...retentionClockCollections,
    ...rolloutCollections,
    ...secretCollections,
    ...terminalCollections,
    ...thresholdCollections,
  },
  logs: { ...auditLogs, ...eventLogs, ...operationLogs },
};
