/**
 * A fleet in one process: a real orchestrator and real agents over a network, a disk and a clock that are not. Everything
 * that happens is drawn from one seed, so a run that found a fault is run again by its number.
 */
import { systemCaller } from "../../lib/callers/caller.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { SimulatedAgent } from "./simulated-agent.ts";
import { SimulatedOrchestrator } from "./simulated-orchestrator.ts";
import { World } from "./world.ts";

const agentCount = 2;

/** Refusals that tell of the state of things; a call may meet any of them. */
const foreseen = [
  "AGENT_OFFLINE",
  "STORAGE_FULL",
  "STORAGE_CLOSED",
  "NO_BASELINE",
  "INVALID_TRANSITION",
] as const;

/** The fleet, and what may be asked of it. */
export class Simulation {
  readonly world: World;
  readonly orchestrator: SimulatedOrchestrator;
  readonly agents: SimulatedAgent[];
  /** What was asked for and answered: operation id -> number of the work. */
  readonly answered = new Map<string, number>();
  /** Agents for which something is being asked for right now, so that numbers rise with the order of requests. */
  readonly #asking = new Set<SimulatedAgent>();
  #numbers = 0;

  constructor(seed: number, folder: string) {
    this.world = new World(seed);
    this.orchestrator = new SimulatedOrchestrator(this.world);
    this.agents = Array.from(
      { length: agentCount },
      (_, index) => new SimulatedAgent(this.world, folder, `agent-${index}`),
    );
  }

  /** Starts all, and has every agent approved. */
  async begin(): Promise<void> {
    await this.orchestrator.start();
    const { current } = this.orchestrator;
    for (const agent of this.agents) {
      await agent.start();
      await this.world.clock.advance(3000);
      // With a bad network it may take more than one try to be known.
      for (
        let tries = 0;
        tries < 60 && !(await servicesOf(current!).agents.isKnown(agent.nodeId));
        tries += 1
      )
        await this.world.clock.advance(1000);
      const approved = current!.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
      await this.world.drive("an approval", approved);
    }
  }

  /** Asks for applies or plans of new work on an agent, one after another. */
  request(agent: SimulatedAgent, kinds: readonly ("apply" | "plan")[], options: RequestOptions = {}): void {
    const { current } = this.orchestrator;
    if (!current || this.#asking.has(agent)) return;
    this.#asking.add(agent);
    const input = { node_id: agent.nodeId, modules: [agent.name], wait_seconds: 0, ...options };
    const asked = async (): Promise<void> => {
      for (const kind of kinds) {
        this.#numbers += 1;
        const number = this.#numbers;
        this.world.note(`${kind} ${number} on ${agent.name} ${JSON.stringify(options)}`);
        await current.modules.upload(systemCaller, { content: moduleOf(agent.name, number) });
        const { operation_id } = await current.operations[kind](systemCaller, input);
        this.answered.set(operation_id, number);
      }
    };
    this.#call(kinds.join(", "), asked, () => this.#asking.delete(agent));
  }

  /** Cancels an operation that is open, if there is one. */
  cancelSome(): void {
    const { current } = this.orchestrator;
    if (!current) return;
    this.#call("cancel", async () => {
      const open = [];
      for await (const { operation_id, kind } of servicesOf(current).operations.store.open())
        if (kind !== "check") open.push(operation_id);
      const operation_id = this.world.pick(open);
      if (operation_id === undefined) return;
      this.world.note(`cancel ${this.answered.get(operation_id) ?? operation_id}`);
      await current.operations.cancel(systemCaller, { operation_id });
    });
  }

  /** Asks for a drift check. */
  check(agent: SimulatedAgent): void {
    const { current } = this.orchestrator;
    if (!current) return;
    this.#call("check", () => current.drift.check(systemCaller, { node_id: agent.nodeId, wait_seconds: 0 }));
  }

  /** Makes a call that nobody waits for. What a killed orchestrator answers counts for nothing. */
  #call(what: string, call: () => Promise<unknown>, ended = (): void => {}): void {
    const { life } = this.orchestrator;
    life?.onEnd(ended);
    call()
      .catch((error: unknown) => {
        const isForeseen = foreseen.some((code) => isOrchestratorError(error, code));
        if (!life?.isOver && !isForeseen) this.world.faults.push(`${what} failed: ${describe(error)}`);
      })
      .finally(ended);
  }

  /** Takes every hindrance away, has each agent apply once more, and waits for all that is open. */
  async heal(): Promise<void> {
    const { world, orchestrator } = this;
    world.note("everything is healed");
    orchestrator.data.freeBytes = Infinity;
    if (!orchestrator.current) await orchestrator.start();
    orchestrator.life?.endAtTouch(Infinity);
    for (const agent of this.agents) {
      agent.setDiskFull(false);
      agent.machine.isHealthy = true;
      if (!agent.isUp) await agent.start();
      agent.kill(Infinity);
    }
    world.network.heal();
    await world.clock.advance(15 * 60_000);
    for await (const { kind, operation_id } of servicesOf(orchestrator.current!).operations.store.unknown())
      world.faults.push(`${kind} ${operation_id} is unknown although its agent is back`);
    for (const agent of this.agents) this.request(agent, ["apply"], { when_offline: "queue" });
    await world.clock.advance(5 * 60_000);
    await this.#findHeld();
  }

  /** A result that is still there after a minute; that of a scheduled check may be on its way at any moment. */
  async #findHeld(): Promise<void> {
    const held = this.agents.map((agent) => ({ agent, operations: agent.undelivered() }));
    await this.world.clock.advance(60_000);
    for (const { agent, operations } of held) {
      const left = operations.filter((operation) => agent.undelivered().includes(operation));
      if (left.length > 0) this.world.faults.push(`${agent.name} still holds ${left.join(", ")}`);
    }
  }

  /** Ends every process in order, and what is left of those that were killed. */
  async end(): Promise<void> {
    for (const agent of this.agents) await agent.stop();
    await this.orchestrator.stop();
    await this.world.drive("what killed processes left", Promise.allSettled(this.world.remains));
  }
}

/** How something is asked for. */
export interface RequestOptions {
  when_offline?: "fail" | "queue";
  expires_in_seconds?: number;
  timeout_seconds?: number;
}

function describe(error: unknown): string {
  const issues = isOrchestratorError(error) ? JSON.stringify(error.issues) : "";
  return `${error instanceof Error ? error.stack : String(error)} ${issues}`;
}

function moduleOf(name: string, number: number): string {
  return [
    `name: ${name}`,
    "resources:",
    `  - { id: mark, type: file, path: /etc/mark, content: "${number}" }`,
    `  - { id: work, type: script, run: [work, "${number}"], run_on: [mark] }`,
    `  - { id: done, type: file, path: /etc/done, content: "${number}", requires: [work] }`,
    // Changes now and then only: what its reader misses at one apply it has to be given at the next.
    `  - { id: setting, type: file, path: /etc/setting, content: "${Math.floor(number / 25)}", on_failure: continue }`,
    "  - { id: reader, type: script, run: [read-setting], run_on: [setting], on_failure: continue }",
    "",
  ].join("\n");
}
