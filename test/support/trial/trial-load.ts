/** What operators ask a fleet for during a trial, and what they were answered: each apply leaves a line with a number of its own. */
import type { Operation, RolloutDetail } from "fleetwright";
import { ApiError, type Client } from "fleetwright/client";
import type { TrialFleet } from "./trial-fleet.ts";

/** A script that leaves a line each time that it runs, and tells it. Its check finds it done once, right after it ran. */
function script(id: string, line: string, pause = "0"): string {
  return `  - id: ${id}
    type: script
    check: "[ -e fresh-${line} ] && rm fresh-${line}"
    run: |
      echo ${line} >> runs
      echo ${line}
      sleep ${pause}
      touch fresh-${line}
`;
}

const modules = [
  `name: counted
params:
  number: { type: string, default: "" }
  pause: { type: string, default: "0" }
resources:
  - { id: made, type: file, path: /made, content: "{{ params.number }}" }
${script("count", "{{ params.number }}", "{{ params.pause }}")}`,
  `name: rolled
params:
  roll: { type: string, default: "" }
resources:
${script("roll", "{{ params.roll }}")}`,
];

/** One apply or plan that was asked for. */
export interface Request {
  /** What it writes, e.g. "n12". */
  number: string;
  kind: "apply" | "plan";
  nodeId: string;
  /** Absent where nobody answered. */
  operationId?: string;
}

export class TrialLoad {
  readonly #fleet: TrialFleet;
  readonly #random: () => number;
  readonly #pending = new Set<Promise<void>>();
  #numbers = 0;
  #rolls = 0;
  readonly requests: Request[] = [];
  /** Ids of rollouts that were answered. */
  readonly rollouts = new Set<string>();
  /** Numbers and rollouts that a restore may have made unknown: they were answered after the backup was begun. */
  readonly forgotten = new Set<string>();
  /** Calls that were answered with a refusal, or not at all, by code. */
  readonly refusals = new Map<string, number>();
  counts = { checks: 0, cancels: 0 };
  /** What the backup that is kept does not have: numbers and rollouts; null where there is none. */
  #since: Set<string> | null = null;

  constructor(fleet: TrialFleet, random: () => number) {
    this.#fleet = fleet;
    this.#random = random;
  }

  async prepare({ client }: TrialFleet): Promise<void> {
    for (const content of modules) await client.modules.upload({ content });
    await client.assignments.create({
      name: "all",
      selector: "*",
      modules: ["rolled"],
      params: { roll: "r0" },
    });
  }

  /** Asks for something; goes on without waiting for the answer. */
  step(): void {
    const dice = this.#random();
    if (dice < 0.6) this.#run("apply");
    else if (dice < 0.7) this.#run("plan");
    else if (dice < 0.8) this.#call(({ drift }) => this.#check(drift));
    else if (dice < 0.9) this.#cancel();
    else this.#roll();
  }

  /** Resolves when every call has been answered, or given up. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** What is asked for from now on is not in the backup that begins now. */
  backupBegins(): void {
    // Which of the last rolls the assignment has is not sure where calls were not answered.
    this.#since = new Set([0, 1, 2, 3].map((before) => `r${this.#rolls - before}`));
  }

  /** The server has forgotten what came after the backup. */
  restored(): void {
    for (const each of this.#since ?? []) this.forgotten.add(each);
    for (const { number, operationId } of this.requests)
      if (operationId === undefined) this.forgotten.add(number);
    this.#since = null;
  }

  #run(kind: Request["kind"]): void {
    const nodeId = this.#anyAgent();
    const number = `n${++this.#numbers}`;
    const request: Request = { number, kind, nodeId };
    this.requests.push(request);
    const pauses = ["0", "0", "0", "0.2", "0.5"];
    const body = {
      modules: ["counted"],
      params: { number, pause: this.#oneOf(pauses) },
      wait_seconds: this.#random() < 0.1 ? 1 : 0,
      when_offline: "queue",
      timeout_seconds: 20,
      expires_in_seconds: this.#random() < 0.1 ? 2 : 600,
    };
    this.#call(async ({ request: send }) => {
      const path = `/agents/${nodeId}/${kind}`;
      request.operationId = (await send<Operation>("POST", path, { body })).operation_id;
      this.#since?.add(number);
    });
  }

  #cancel(): void {
    const { operationId } = this.requests.at(-1 - Math.floor(this.#random() * 4)) ?? {};
    if (operationId === undefined) return;
    this.#call(async ({ operations }) => {
      await operations.cancel(operationId);
      this.counts.cancels += 1;
    });
  }

  async #check(drift: Client["drift"]): Promise<void> {
    await drift.check(this.#anyAgent(), { wait_seconds: 0 });
    this.counts.checks += 1;
  }

  #roll(): void {
    const roll = `r${++this.#rolls}`;
    this.#since?.add(roll);
    const batch = 1 + Math.floor(this.#random() * 2);
    const isCancelled = this.#random() < 0.2;
    this.#call(async ({ assignments, rollouts }) => {
      await assignments.update("all", { params: { roll } });
      const begun: RolloutDetail = await assignments.apply("all", {
        rollout: { batch, max_failures: "100%" },
        wait_seconds: 0,
      });
      this.rollouts.add(begun.rollout_id);
      this.#since?.add(begun.rollout_id);
      if (isCancelled) await rollouts.cancel(begun.rollout_id);
    });
  }

  #call(send: (client: Client) => Promise<void>): void {
    const made = send(this.#fleet.client)
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        this.refusals.set(error.code, (this.refusals.get(error.code) ?? 0) + 1);
      })
      .finally(() => this.#pending.delete(made));
    this.#pending.add(made);
  }

  #anyAgent(): string {
    return this.#oneOf(this.#fleet.agents).nodeId;
  }

  #oneOf<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)]!;
  }
}
