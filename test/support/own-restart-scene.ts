/** An agent that is a service of a machine in memory, with its state on the disk, from life to life. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { type JournalRecord, parseJournal } from "../../lib/agent/journal-record.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationRunner } from "../../lib/agent/operation-runner.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import type { EngineCommand } from "../../lib/agent/run-context.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { ResourceTypes } from "../../lib/state/resource-type.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { uuid } from "./agent-commands.ts";
import { type Deferred, deferred } from "./deferred.ts";
import { ServiceMachine } from "./machine/services.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The service that the agent runs in. */
export const agentService = "agent";

/** One life of the agent. */
export interface Life {
  runner: OperationRunner;
  journal: OperationJournal;
  applied: AppliedSet;
  /** The result of an operation that ended while the agent lived. */
  ended: (number: number) => Promise<OperationResult>;
  /** Whether it was told. */
  hasEnded: (number: number) => boolean;
  run: (command: EngineCommand) => Promise<OperationResult>;
}

/** A machine with an agent in one of its services. */
export class OwnRestartScene {
  readonly stateDir: string;
  readonly machine: ServiceMachine;
  readonly clock = new FakeClock();
  boot = "first";

  constructor(init: "systemd" | "sysvinit" | "openrc" = "systemd", stateDir: string = temporaryFolder()) {
    this.stateDir = stateDir;
    this.machine = new ServiceMachine(init);
    this.machine.add(agentService, { running: true, enabled: true });
    this.machine.add("web", { running: true });
    this.machine.enter(agentService);
  }

  /** Starts the agent on what its last life left. */
  async live({ types = resourceTypes }: { types?: ResourceTypes } = {}): Promise<Life> {
    const { stateDir, clock, machine } = this;
    const journal = new OperationJournal({ stateDir, clock, logger: silentLogger, boot: this.boot });
    const applied = new AppliedSet(stateDir);
    const parts = { journal, applied, host: machine.host, types, clock, logger: silentLogger };
    await recoverCutOff(parts);
    const ends = new Map<string, Deferred<OperationResult> & { isDone: boolean }>();
    const endOf = (id: string): Deferred<OperationResult> & { isDone: boolean } => {
      const known = ends.get(id) ?? { ...deferred<OperationResult>(), isDone: false };
      ends.set(id, known);
      return known;
    };
    const runner = new OperationRunner({
      ...parts,
      orchestratorNow: () => clock.now(),
      runsCommands: true,
      progress: () => {},
      ended({ result }) {
        endOf(result.operation_id).isDone = true;
        endOf(result.operation_id).resolve(result);
      },
    });
    return {
      runner,
      journal,
      applied,
      ended: (number) => endOf(uuid(number)).promise,
      hasEnded: (number) => endOf(uuid(number)).isDone,
      run(command) {
        runner.submit(command);
        return endOf(command.operation_id).promise;
      },
    };
  }

  /** What the journal of an operation holds. */
  records(number: number): JournalRecord[] {
    const path = join(this.stateDir, "operations", `${uuid(number)}.jsonl`);
    return parseJournal(readFileSync(path, "utf8"), uuid(number)).records;
  }

  /**
   * Runs an operation that is to restart the agent; the init system stops it and starts it again.
   *
   * @returns The next life.
   */
  async restartedBy(life: Life, command: EngineCommand): Promise<Life> {
    const ordered = deferred();
    this.machine.acted = (verb) => {
      if (verb === `restart ${agentService}`) ordered.resolve();
    };
    life.runner.submit(command);
    await ordered.promise;
    await life.runner.stop();
    this.machine.acted = () => {};
    this.machine.enter(agentService);
    return this.live();
  }
}
