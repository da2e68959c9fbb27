/** A client that keeps a server busy and remembers what was acknowledged, to be asked for after the server was killed. */
import type { AuditEvent } from "fleetwright";
import { ApiError } from "fleetwright/client";
import type { Client } from "fleetwright/client";
import { endOf } from "./processes.ts";

/** A change that was asked for: by a text that only its audit event has. */
interface Request {
  mark: string;
  acknowledged: boolean;
}

/** What a run of the load came to. */
export interface LoadCounts {
  acknowledged: number;
  unanswered: number;
  operations: number;
}

/** Sets tags, uploads modules and requests applies, over many lives of one server. */
export class FleetLoad {
  readonly #nodeIds: readonly string[];
  readonly #random: () => number;
  readonly #requests: Request[] = [];
  readonly #operations = new Set<string>();
  /** Agent -> values that its tag may have: the last acknowledged, and what was asked for since. */
  readonly #tags = new Map<string, string[]>();
  #count = 0;

  constructor(nodeIds: readonly string[], random: () => number) {
    this.#nodeIds = nodeIds;
    this.#random = random;
  }

  get counts(): LoadCounts {
    const acknowledged = this.#requests.filter((request) => request.acknowledged).length;
    return {
      acknowledged,
      unanswered: this.#requests.length - acknowledged,
      operations: this.#operations.size,
    };
  }

  /** Uploads what the applies apply. */
  async prepare(client: Client): Promise<void> {
    const content = "name: base\nresources:\n  - { type: file, path: /base, content: base }\n";
    await client.modules.upload({ content });
  }

  /** Works with several hands until the server is gone, or one that has an answer is told that it was the last. */
  async run(client: Client, onAcknowledged: () => void | Promise<"last" | "next">): Promise<void> {
    const own = (hand: number): string[] => this.#nodeIds.filter((_, index) => index % 4 === hand);
    const untilGone = async (step: () => Promise<void>): Promise<void> => {
      for (;;) {
        try {
          await step();
          if ((await onAcknowledged()) === "last") return;
        } catch (error) {
          if (isRefusal(error)) continue;
          return;
        }
      }
    };
    await Promise.all([
      ...[0, 1, 2, 3].map((hand) => untilGone(() => this.#setTag(client, this.#oneOf(own(hand))))),
      untilGone(() => this.#upload(client)),
      untilGone(() => this.#apply(client, this.#oneOf(own(0)))),
      untilGone(() => this.#apply(client, this.#oneOf(own(1)))),
    ]);
  }

  /** Demands that all that was acknowledged is there, once, and that nothing is there twice. */
  async check(client: Client): Promise<void> {
    const events = await everything((cursor) => client.audit.list({ limit: 500, ...cursor }));
    const marks = new Map<string, number>();
    for (const mark of events.flatMap(marksOf)) marks.set(mark, (marks.get(mark) ?? 0) + 1);
    for (const { mark, acknowledged } of this.#requests) {
      const times = marks.get(mark) ?? 0;
      if (times > 1 || (acknowledged && times === 0)) {
        throw new Error(
          `${mark} was ${acknowledged ? "" : "not "}acknowledged and is in the audit log ${times} times.`,
        );
      }
    }
    const agents = await everything((cursor) => client.agents.list({ limit: 500, ...cursor }));
    for (const { node_id, tags } of agents) {
      const allowed = this.#tags.get(node_id);
      if (allowed === undefined || allowed.includes(tags["load"] ?? "")) continue;
      throw new Error(`The tag of ${node_id} is ${tags["load"]}; it should be one of ${allowed.join(", ")}.`);
    }
    const modules = await everything((cursor) => client.modules.list({ limit: 500, ...cursor }));
    const names = new Set(modules.map(({ name }) => name));
    for (const { mark, acknowledged } of this.#requests) {
      if (mark.startsWith("module-") && acknowledged && !names.has(mark)) throw new Error(`${mark} is lost.`);
    }
    const operations = await everything((cursor) => client.operations.list({ limit: 500, ...cursor }));
    const known = new Set(operations.map(({ operation_id }) => operation_id));
    const lost = [...this.#operations].find((operationId) => !known.has(operationId));
    if (lost !== undefined) throw new Error(`Operation ${lost} is lost.`);
    const chain = await client.audit.verify();
    if (!chain.valid) throw new Error(`The audit log does not verify: ${JSON.stringify(chain)}`);
  }

  /** Waits until every operation has ended. */
  async settle(client: Client): Promise<void> {
    for (const operationId of this.#operations) await endOf(client, operationId);
  }

  async #setTag(client: Client, nodeId: string): Promise<void> {
    const value = `tag-${++this.#count}`;
    const allowed = this.#tags.get(nodeId) ?? [""];
    this.#tags.set(nodeId, [...allowed, value]);
    await this.#request(value, () => client.tags.set(nodeId, { key: "load", value }));
    this.#tags.set(nodeId, [value]);
  }

  async #upload(client: Client): Promise<void> {
    const name = `module-${++this.#count}`;
    const content = `name: ${name}\nresources:\n  - { type: directory, path: /${name} }\n`;
    await this.#request(name, () => client.modules.upload({ content }));
  }

  async #apply(client: Client, nodeId: string): Promise<void> {
    const input = { modules: ["base"], wait_seconds: 0, when_offline: "queue" } as const;
    const { operation_id } = await client.state.apply(nodeId, input);
    this.#operations.add(operation_id);
    this.#requests.push({ mark: `operation ${operation_id}`, acknowledged: true });
  }

  async #request(mark: string, send: () => Promise<unknown>): Promise<void> {
    const request = { mark, acknowledged: false };
    this.#requests.push(request);
    await send();
    request.acknowledged = true;
  }

  #oneOf(nodeIds: readonly string[]): string {
    return nodeIds[Math.floor(this.#random() * nodeIds.length)] ?? "";
  }
}

/** The requests that an event tells of. */
function marksOf({ event_type, target, metadata }: AuditEvent): string[] {
  if (event_type === "module.uploaded") return [target?.name ?? ""];
  if (event_type === "operation.requested") return [`operation ${target?.id}`];
  if (event_type !== "agent.tagsChanged") return [];
  const { after } = metadata as { after: Record<string, string> };
  return [after["load"] ?? ""];
}

/** Whether the server answered with a refusal that leaves everything as it was, as of an apply too many. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500;
}

/** All pages of a list. */
async function everything<Item>(
  page: (cursor: { cursor?: string }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const next = await page(cursor === undefined ? {} : { cursor });
    items.push(...next.items);
    cursor = next.next_cursor;
  }
  return items;
}
