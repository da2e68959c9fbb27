/** What ends on an agent that is removed leaves nothing behind that a machine with its key would inherit. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type {
  CommitOptions,
  CommitResult,
  DocumentPage,
  ListQuery,
  Write,
} from "../../lib/storage/storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

const kept = ["agent_states", "applied_modules", "applied_secrets", "agent_findings"];

async function left({ storage }: Scene["test"]): Promise<string[]> {
  const lists = await Promise.all(kept.map((collection) => storage.list(collection, {})));
  return kept.filter((_, at) => lists[at]!.items.length > 0);
}

async function remove({ test, agents }: Scene): Promise<void> {
  const { nodeId: node_id } = agents[0]!;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await test.orchestrator.agents.remove(systemCaller, { node_id });
}

it("a first apply that ends in the moment in which its agent is removed", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "put" && write.collection === "agent_states"),
  );
  await using scene = await createScene(1, () => ({}), { storage });
  const [member] = scene.agents;
  const { nodeId: node_id } = member!;
  await scene.test.orchestrator.operations.apply(systemCaller, {
    node_id,
    modules: ["motd"],
    wait_seconds: 0,
  });
  const { operation_id } = await member!.agent.next("apply");
  storage.before = () => remove(scene);
  member!.agent.link.send(emptyResult(operation_id));
  await settleAll();
  expect(storage.before).toBeNull();
  expect(await scene.test.orchestrator.operations.get(systemCaller, { operation_id })).toMatchObject({
    status: "succeeded",
  });
  expect(await left(scene.test)).toEqual([]);
});

type Moment =
  "before what is known is removed" | "after the modules were read" | "after the secrets were read";

/** Holds the commit that says what an apply left, and lets it go at some moment of the removal of its agent. */
class HeldStorage extends MemoryStorage {
  /** Lets go what is held; null where nothing is. */
  release: (() => void) | null = null;
  readonly #moment: Moment;
  #isHolding = false;

  constructor(moment: Moment) {
    super();
    this.#moment = moment;
  }

  hold(): void {
    this.#isHolding = true;
  }

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const about = writes.find((write) => "collection" in write && write.collection === "agent_states");
    if (about?.kind === "put" && this.#isHolding) {
      this.#isHolding = false;
      await new Promise<void>((resolve) => (this.release = resolve));
    } else if (about?.kind === "delete") await this.#letGo("before what is known is removed");
    return super.commit(writes, options);
  }

  override async list<T>(collection: string, query?: ListQuery): Promise<DocumentPage<T>> {
    const page = await super.list<T>(collection, query);
    if (collection === "applied_modules") await this.#letGo("after the modules were read");
    if (collection === "applied_secrets") await this.#letGo("after the secrets were read");
    return page;
  }

  async #letGo(moment: Moment): Promise<void> {
    const { release } = this;
    if (moment !== this.#moment || release === null) return;
    this.release = null;
    release();
    for (let turn = 0; turn < 20; turn += 1) await settle();
  }
}

const moments: Moment[] = [
  "before what is known is removed",
  "after the modules were read",
  "after the secrets were read",
];

/**
 * Symptom: the list of agents said of one that had come back with a removed key that it had modules, which were never applied to it. Cause:
 * what the removal read of it was older than what it removed.
 */
it.each(moments)("an apply of another module that ends while its agent is removed, %s", async (moment) => {
  const storage = new HeldStorage(moment);
  const secretsKey = new Uint8Array(32).fill(1);
  await using scene = await createScene(1, () => ({}), { storage, secretsKey });
  const { modules, operations, secrets } = scene.test.orchestrator;
  const [member] = scene.agents;
  const { agent, nodeId: node_id } = member!;
  await operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  await scene.finish(member);
  await secrets.create(systemCaller, { name: "db", value: "hush-hush" });
  const content = 'name: db\nresources:\n  - { type: file, path: /etc/db, content: "{{ secrets.db }}" }\n';
  await modules.upload(systemCaller, { content });
  await operations.apply(systemCaller, { node_id, modules: ["db"], wait_seconds: 0 });
  const { operation_id } = await agent.next("apply");
  storage.hold();
  agent.link.send(emptyResult(operation_id));
  await waitFor(() => expect(storage.release).not.toBeNull());
  await remove(scene);
  expect(storage.release).toBeNull();
  expect(await operations.get(systemCaller, { operation_id })).toMatchObject({ status: "succeeded" });
  expect(await left(scene.test)).toEqual([]);
});
