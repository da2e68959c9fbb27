import type { AgentService } from "../agents/agent-service.ts";
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { idPast } from "../ids.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import { matchesSelector } from "../selectors/match.ts";
import type { SelectorCache } from "../selectors/selector-cache.ts";
import { eachPage } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { AuditForwarding } from "./channels/audit-forwarding.ts";
import { ChannelBook } from "./channels/channel-book.ts";
import { ChannelConfigs } from "./channels/channel-config.ts";
import { Outbox } from "./channels/outbox.ts";
import { toMessage, toWrite } from "./channels/to-delivery.ts";
import { narrowed } from "./inbox/bundles.ts";
import { GoneReaders } from "./inbox/gone-readers.ts";
import { InboxIndex } from "./inbox/inbox-index.ts";
import { Notifier, type Made } from "./inbox/notifier.ts";
import { dropLeftStates, keepNotifications } from "./notification-retention.ts";
import { CheckedOutbound } from "./outbound/checked-outbound.ts";
import type { Outbound } from "./outbound/outbound.ts";
import { channelTypes } from "./senders/channel-types.ts";

/** Deliveries of a channel that is gone, removed in one go. */
const atOnce = 100;

interface Features {
  agents: AgentService;
  maintenance: MaintenanceService;
  secrets: SecretService;
}

/** Tells operators, and channels, what happens: from the log of events to the inbox and the outbox. */
export class NotificationService {
  readonly index: InboxIndex;
  readonly book: ChannelBook;
  readonly configs: ChannelConfigs;
  readonly outbound: Outbound;
  readonly selectors: SelectorCache;
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #notifier: Notifier;
  readonly #outbox: Outbox;
  readonly #forwarding: AuditForwarding;
  readonly #work: BackgroundWork;
  readonly #goneReaders: GoneReaders;
  /** The id that those of new messages come past. */
  #newestDelivery = "";

  constructor(context: Context, { agents, maintenance, secrets }: Features) {
    const { options, clock } = context;
    this.#context = context;
    this.#agents = agents;
    this.#work = new BackgroundWork(context);
    this.selectors = agents.registry.selectors;
    this.index = new InboxIndex(context);
    this.#goneReaders = new GoneReaders(context, { work: this.#work, index: this.index });
    this.book = new ChannelBook(context, agents.registry);
    const types = { ...channelTypes, ...options.channelTypes };
    this.configs = new ChannelConfigs({ secrets, types });
    this.outbound = new CheckedOutbound({ allow: options.channelNetworks, clock });
    this.#outbox = new Outbox(context, this);
    this.#forwarding = new AuditForwarding(context, this);
    const isMuted = (nodeId: string, atMs: number): boolean => maintenance.isMuted(nodeId, atMs);
    const nameOf = (nodeId: string): string => agents.registry.index.get(nodeId)?.name ?? nodeId;
    this.#notifier = new Notifier(context, {
      agents: { nameOf, isMuted },
      latestId: () => this.index.latest,
      deliveriesOf: (made) => this.#deliveriesOf(made),
    });
    context.references.register("secret", (names) => Promise.resolve(this.#usersOf(names)));
  }

  /** Takes up what waits, and tells from now on. The function returned ends it. */
  async start(): Promise<() => Promise<void>> {
    await this.index.load(this.#context);
    await this.#goneReaders.start();
    await this.book.load(this.#context);
    this.#notifier.start();
    await this.#outbox.start();
    await this.#forwarding.start();
    const endRetention = keepNotifications(this.#context, {
      count: () => this.index.size,
      hasChannel: (id) => this.book.get(id) !== null,
      leftStates: () => this.book.leftStates(),
    });
    return async () => {
      await endRetention();
      await this.#notifier.stop();
      await this.#forwarding.stop();
      await this.#outbox.stop();
      await this.#work.stop();
    };
  }

  /** Removes the messages of a channel that is gone, and what came of one that was under way when it was removed. */
  dropDeliveries(channelId: string): void {
    this.#work.do(async () => {
      const query = { index: "by_channel", equals: [channelId], limit: atOnce };
      for await (const page of eachPage(this.#context.storage, "deliveries", query)) {
        const deletes = page.map(({ key }): Write => ({ kind: "delete", collection: "deliveries", key }));
        // With the reserve: what is removed makes space.
        await this.#context.commitWithReserve(systemCaller, deletes);
      }
      // Last: an attempt writes how it ended for as long as its message is there.
      await dropLeftStates(this.#context, [channelId]);
    });
  }

  async #deliveriesOf({ notification, bundle }: Made): Promise<Write[]> {
    const query = { order: "desc", limit: 1 } as const;
    const [newest] = (await this.#context.storage.list("deliveries", query)).items;
    if (newest && newest.key > this.#newestDelivery) this.#newestDelivery = newest.key;
    return this.book.for(bundle).flatMap(({ document, selector }) => {
      const isFor = (nodeId: string): boolean => {
        const target = this.#agents.registry.index.get(nodeId);
        return target !== null && matchesSelector(selector!, target);
      };
      const told = selector === null ? bundle : narrowed(bundle, isFor);
      if (!told) return [];
      // Past all that there are, also where the clock was wrong when those were made: a channel's messages go in the order of their ids.
      this.#newestDelivery = idPast(this.#newestDelivery, this.#context.ids.next());
      const message = toMessage(this.#newestDelivery, notification, told);
      return [toWrite(this.#context, message, document.id)];
    });
  }

  #usersOf(names: readonly string[]): Map<string, string[]> {
    const users = new Map<string, string[]>();
    for (const channel of this.book.all())
      for (const name of this.configs.secretsOf(channel))
        if (names.includes(name)) users.set(name, [...(users.get(name) ?? []), `channel ${channel.name}`]);
    return users;
  }
}
