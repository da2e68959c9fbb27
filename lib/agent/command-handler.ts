import { OrchestratorError, isOrchestratorError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { AgentMessage, OrchestratorMessage } from "../wire/messages.ts";
import type { AgentMetrics } from "./metrics/agent-metrics.ts";
import type { OperationRunner } from "./operation-runner.ts";
import { toPeerError } from "./peer-error.ts";
import type { ResultDelivery } from "./result-delivery.ts";
import type { AgentTerminals } from "./terminal/agent-terminals.ts";

/** What an orchestrator orders. */
export type Command = Exclude<OrchestratorMessage, { type: "status" }>;

/** Commands that are news and no orders. */
const unanswered: ReadonlySet<Command["type"]> = new Set(["ack", "metrics.ack", "terminal.grant"]);

/** What carries commands out. */
export interface CommandHandlerOptions {
  runner: OperationRunner;
  delivery: ResultDelivery;
  terminals: AgentTerminals;
  /** Null where nothing is measured. */
  metrics: AgentMetrics | null;
  logger: Logger;
  /** Wall clock of the orchestrator, milliseconds since 1970. */
  orchestratorNow: () => number;
  /** Sends a message; false where there is no connection for it. */
  send: (message: AgentMessage) => boolean;
  sendAttributes: () => void;
}

/**
 * Carries out verified commands and answers each, but for those that are news and no orders. "Taken" for an
 * operation means that it is on disk and ends with a result.
 */
export class CommandHandler {
  readonly #options: CommandHandlerOptions;

  constructor(options: CommandHandlerOptions) {
    this.#options = options;
  }

  handle(command: Command): void {
    const { logger, send } = this.#options;
    try {
      const after = this.#carryOut(command);
      if (!unanswered.has(command.type)) send({ type: "reply", id: command.id });
      after?.();
    } catch (error) {
      if (!isOrchestratorError(error)) logger.error("A command failed.", { command: command.type, error });
      send({ type: "reply", id: command.id, error: toPeerError(error) });
    }
  }

  /** Carries a command out; what it returns is to be done after the answer. */
  #carryOut(command: Command): (() => void) | undefined {
    const { runner, delivery, metrics } = this.#options;
    switch (command.type) {
      case "apply":
      case "plan":
      case "check":
      case "run":
      case "forget":
        runner.submit(command);
        // Where it has ended before, this is a second delivery of the command, and the result may not have arrived.
        return () => delivery.deliver(command.operation_id);
      case "ack":
        delivery.acknowledge(command.operation_id);
        return undefined;
      case "cancel":
        this.#assertInTime(command.not_after);
        runner.cancel(command.operation_id);
        return undefined;
      case "attributes.refresh":
        this.#assertInTime(command.not_after);
        return this.#options.sendAttributes;
      case "config":
        metrics?.configure(command.metrics_interval_seconds);
        return undefined;
      case "metrics.ack":
        metrics?.acknowledge(Date.parse(command.through));
        return undefined;
      case "terminal.open":
        this.#assertInTime(command.not_after);
        this.#options.terminals.open(command);
        return undefined;
      case "terminal.resize":
      case "terminal.close":
      case "terminal.grant":
        this.#options.terminals.handle(command);
        return undefined;
    }
  }

  #assertInTime(notAfter: string): void {
    if (this.#options.orchestratorNow() > Date.parse(notAfter))
      throw new OrchestratorError("COMMAND_EXPIRED");
  }
}
