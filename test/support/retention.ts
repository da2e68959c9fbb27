import { agentCollections } from "../../lib/agents/documents.ts";
import { auditCollections, auditLogs } from "../../lib/audit/documents.ts";
import { contentCollections } from "../../lib/contents/contents.ts";
import { Context } from "../../lib/context.ts";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { driftCollections } from "../../lib/drift/documents.ts";
import { Drift } from "../../lib/drift/drift.ts";
import { eventLogs } from "../../lib/feed/event-record.ts";
import { toJsonObject, type JsonObject } from "../../lib/json.ts";
import { moduleCollections } from "../../lib/modules/documents.ts";
import {
  operationCollections,
  operationLogs,
  type OperationDocument,
} from "../../lib/operations/documents.ts";
import { saveReport } from "../../lib/operations/operation-results.ts";
import type { OperationRetention } from "../../lib/operations/operation-retention.ts";
import { type OrchestratorOptions, resolveOptions } from "../../lib/options.ts";
import { rolloutCollections } from "../../lib/rollouts/documents.ts";
import type { RolloutService } from "../../lib/rollouts/rollout-service.ts";
import { createServices } from "../../lib/services.ts";
import { countOutcomes } from "../../lib/state/result.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { retentionClockCollections } from "../../lib/upkeep/retention-clock.ts";

const schema = {
  version: 1,
  collections: {
    ...agentCollections,
    ...auditCollections,
    ...contentCollections,
    ...driftCollections,
    ...moduleCollections,
    ...operationCollections,
    ...retentionClockCollections,
    ...rolloutCollections,
  },
  logs: { ...auditLogs, ...eventLogs, ...operationLogs },
};

/** What operations keep, without anybody who makes some: a test writes what was long ago, and lets rounds go over it. */
export class OldOperations {
  readonly context: Context;
  readonly clock: FakeClock;
  readonly drift: Drift;
  readonly retention: OperationRetention;
  readonly rollouts: RolloutService;
  /** Reads what is known of agents, as a start does. */
  readonly loadAgents: () => Promise<void>;

  private constructor(context: Context, clock: FakeClock) {
    this.context = context;
    this.clock = clock;
    const services = createServices(context);
    this.drift = new Drift(context, services.drift, services);
    this.retention = services.operations.retention;
    this.rollouts = services.rollouts;
    this.loadAgents = () => services.agents.load();
  }

  static async open(
    storage: Storage,
    clock = new FakeClock(),
    options: Pick<OrchestratorOptions, "operationRetentionCount"> = {},
  ): Promise<OldOperations> {
    await storage.open(schema);
    const transport = new MemoryTransport();
    // Past the check: so few that a test can count them are fewer than anybody may keep.
    const resolved = { ...resolveOptions({ storage, transport, clock }), ...options };
    return new OldOperations(new Context(resolved), clock);
  }

  get storage(): Storage {
    return this.context.storage;
  }

  /** Keeps an operation as one that ended now, with a snapshot and one result. */
  async add(
    fields: Partial<OperationDocument> & Pick<OperationDocument, "kind" | "node_id">,
    content = "resources",
  ): Promise<string> {
    const operation_id = this.context.ids.next();
    const snapshot = await this.context.contents.save("snapshot", toUtf8(content));
    const result = { ...unchanged, resource_id: operation_id };
    const results = await saveReport(this.context, operation_id, { results: [result], output: [] });
    const operation = {
      operation_id,
      agent_name: fields.node_id,
      status: "succeeded",
      modules: [],
      counts: countOutcomes([result]),
      requested_by: "test",
      created_at: this.context.timestamp(),
      finished_at: this.context.timestamp(),
      snapshot,
      resource_count: 1,
      timeout_seconds: 300,
      allow_empty: false,
      results,
      ...fields,
    };
    await this.put("operations", operation_id, toJsonObject(operation));
    return operation_id;
  }

  async put(collection: string, key: string, value: JsonObject): Promise<void> {
    await this.storage.commit([{ kind: "put", collection, key, value }]);
  }

  /** Lets days pass as the background work sees them: bit by bit. */
  async age(days = 100): Promise<void> {
    for (let hour = 0; hour < days * 24; hour += 12) {
      await this.clock.advance(12 * 3_600_000);
      await this.context.retentionClock.now();
    }
  }

  /** Lets some rounds pass, each an hour after the one before. */
  async rounds(count: number): Promise<void> {
    for (let round = 0; round < count; round++) {
      await this.clock.advance(3_600_000);
      for await (const _ of this.retention.round());
    }
  }

  /** Ids of the operations that are there. */
  async ids(): Promise<string[]> {
    return (await this.storage.list("operations", { limit: 1_000 })).items.map(({ key }) => key);
  }
}

const unchanged = {
  module: "motd",
  type: "file",
  identity: "/etc/motd",
  outcome: "unchanged" as const,
  action: "none" as const,
  changes: [],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
};
